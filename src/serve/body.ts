/** Bodies of requests, read up to a limit. */
import { ByteBudget } from "../library/io/bytes.ts";
import type { AskedRequest } from "./asked_request.ts";
import { HttpError } from "./http_error.ts";
import { concatInSlices, Slices } from "./slices.ts";

/** Bytes that are unpacked at a time, to a thousand times as many at most. */
const PACKED_BYTES = 1024;

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
  request: AskedRequest,
  { maxBytes, took, signal }: BodyLimits,
): Promise<Uint8Array<ArrayBuffer>> {
  const tooLong = (): HttpError =>
    new HttpError(413, `Cannot read the request: it has more than ${maxBytes} bytes`);
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLong();
  const coding = request.headers.get("content-encoding")?.toLowerCase() ?? "identity";
  const { whole } = request;
  if (whole !== undefined && coding === "identity") {
    if (whole.length > maxBytes) throw tooLong();
    took(whole.length);
    return whole;
  }
  if (request.body === null) return new Uint8Array();
  const parts: Uint8Array[] = [];
  let length = 0;
  const slices = new Slices(signal);
  const reader = decoded(request.body, coding).getReader();
  const leave = (): void => void reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", leave, { once: true });
  try {
    while (true) {
      const { value, done } = await reader.read();
      signal.throwIfAborted();
      if (done) return await concatInSlices(parts, slices);
      length += value.length;
      if (length > maxBytes) throw tooLong();
      took(value.length);
      parts.push(value);
      if (coding !== "identity") await slices.turn();
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
  coding: string,
): ReadableStream<Uint8Array> {
  if (coding === "identity") return body;
  if (coding === "gzip" || coding === "deflate") {
    return body.pipeThrough(inPieces()).pipeThrough(new DecompressionStream(coding));
  }
  throw new HttpError(415, `Cannot read the request: its content-encoding is "${coding}"`);
}

/** Cuts chunks: one of 64 KiB may unpack to as many MiB at once. */
function inPieces(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  return new TransformStream({
    transform(chunk, controller) {
      for (let at = 0; at < chunk.length; at += PACKED_BYTES) {
        controller.enqueue(chunk.subarray(at, at + PACKED_BYTES));
      }
    },
  });
}
