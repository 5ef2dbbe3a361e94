/** Bodies of requests, read up to a limit. */
import { concatBytes } from "../library/io/bytes.ts";
import { HttpError } from "./http_error.ts";

/**
 * Reads the body of a request. Throws `HttpError` 413 for too many bytes, 415 for an unknown coding, 400 for damaged
 * bytes.
 */
export async function readBody(
  request: Request,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const tooLong = (): HttpError =>
    new HttpError(413, `Cannot read the request: it has more than ${maxBytes} bytes`);
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLong();
  if (request.body === null) return new Uint8Array();
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = decoded(request.body, request.headers.get("content-encoding")).getReader();
  try {
    while (true) {
      const { value, done } = await reader.read();
      if (done) return concatBytes(parts);
      length += value.length;
      if (length > maxBytes) throw tooLong();
      parts.push(value);
    }
  } catch (error) {
    // Cancelling tells the client to stop sending; it may have gone already.
    await reader.cancel().catch(() => {});
    if (error instanceof HttpError) throw error;
    throw new HttpError(400, `Cannot read the request: ${(error as Error).message}`);
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
