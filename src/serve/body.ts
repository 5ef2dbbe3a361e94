/** Bodies of requests, read up to a limit. */
import { ByteBudget } from "../library/io/bytes.ts";
import { HttpError } from "./http_error.ts";
import { concatInSlices, Slices } from "./slices.ts";

/** Bounds the bytes of all bodies that requests hold until they are answered. Beyond them is `HttpError` 429. */
export function bodyBytes(most: number): ByteBudget {
  return new ByteBudget(
    most,
    (most) =>
      new HttpError(429, `Too many requests: their bodies take ${most} bytes`, {
        "retry-after": "1",
      }),
  );
}

/** Limits of a body. */
export interface BodyLimits {
  /** Most bytes of it. */
  readonly maxBytes: number;
  /** Is told of its bytes as they come. Throws where there are too many of all bodies. */
  readonly took: (bytes: number) => void;
  /** Ends the reading. */
  readonly signal: AbortSignal;
}

/**
 * Reads the body of a request. Throws `HttpError` 413 for too many bytes, 415 for an unknown coding, 400 for damaged
 * bytes, and the reason of `signal`.
 */
export async function readBody(
  request: Request,
  { maxBytes, took, signal }: BodyLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  const tooLong = (): HttpError =>
    new HttpError(413, `Cannot read the request: it has more than ${maxBytes} bytes`);
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLong();
  if (request.body === null) return new Uint8Array();
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = decoded(request.body, request.headers.get("content-encoding")).getReader();
  const leave = (): void => void reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", leave, { once: true });
  try {
    while (true) {
      const { value, done } = await reader.read();
      signal.throwIfAborted();
      if (done) return await concatInSlices(parts, new Slices(signal));
      length += value.length;
      if (length > maxBytes) throw tooLong();
      took(value.length);
      parts.push(value);
    }
  } catch (error) {
    // Cancelling tells the client to stop sending; it may have gone already.
    await reader.cancel().catch(() => {});
    if (error instanceof HttpError) throw error;
    signal.throwIfAborted();
    throw new HttpError(400, `Cannot read the request: ${(error as Error).message}`);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

function decoded(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  coding: string | null,
): ReadableStream<Uint8Array> {
  if (coding === null || coding === "identity") return body;
  if (coding === "gzip" || coding === "deflate") {
    return body.pipeThrough(new DecompressionStream(coding));
  }
  throw new HttpError(415, `Cannot read the request: its content-encoding is "${coding}"`);
}
