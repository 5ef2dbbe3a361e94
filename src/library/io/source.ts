/** Sources of files: a path, a URL, bytes or a stream, read whole. */
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { NotFoundError } from "../../engine/core/errors.ts";
import { concatBytes } from "./bytes.ts";
import { readBytes } from "./files.ts";

/** A file: its path, its URL, its bytes, or a stream of them. */
export type FileSource = string | URL | Uint8Array | ReadableStream<Uint8Array>;

export interface FileContent {
  readonly bytes: Uint8Array;
  /** Name in errors. */
  readonly name: string;
}

/** Options of reading a source. */
export interface SourceOptions {
  /** Is told how much of a download is there, from 0 to 1. */
  readonly onProgress?: (fraction: number) => void;
}

/** Reads a file whole. Rejects with `NotFoundError` where there is none, `TypeError` for an invalid source. */
export async function readSource(
  source: FileSource,
  { onProgress }: SourceOptions = {},
): Promise<FileContent> {
  onProgress?.(0);
  const content = await readWhole(source, onProgress);
  onProgress?.(1);
  return content;
}

async function readWhole(
  source: FileSource,
  onProgress: SourceOptions["onProgress"],
): Promise<FileContent> {
  if (source instanceof Uint8Array) {
    return { bytes: plainBytes(source), name: `${source.length} bytes` };
  }
  if (source instanceof ReadableStream) {
    const parts: Uint8Array[] = [];
    for await (const part of source) parts.push(part);
    return { bytes: parts.length === 1 ? parts[0] : concatBytes(parts), name: "a stream" };
  }
  if (typeof source !== "string" && !(source instanceof URL)) {
    throw new TypeError(
      `Cannot read a file: wanted a path, a URL, a Uint8Array or a ReadableStream, received ${
        source === null ? "null" : typeof source
      }`,
    );
  }
  const url = asUrl(source);
  if (url === null) return { bytes: plainBytes(await readBytes(source)), name: String(source) };
  return { bytes: await download(url, onProgress), name: url.href };
}

/** Returns bytes as a plain array: `slice` of Node's Buffer, which its files are, makes no copy. */
function plainBytes(bytes: Uint8Array): Uint8Array {
  if (bytes.constructor === Uint8Array) return bytes;
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Returns the URL of a source to fetch; null for files of this machine. */
function asUrl(source: string | URL): URL | null {
  const text = String(source);
  return /^(https?|data|blob):/i.test(text) ? new URL(text) : null;
}

async function download(
  url: URL,
  onProgress: SourceOptions["onProgress"],
): Promise<Uint8Array> {
  const response = await fetch(url);
  if (!response.ok) {
    await response.body?.cancel();
    throw new NotFoundError(`Cannot read ${url.href}: the server answered ${response.status}`);
  }
  // A compressed answer's length is not that of its bytes.
  const length = response.headers.has("content-encoding")
    ? NaN
    : Number(response.headers.get("content-length") ?? NaN);
  if (onProgress === undefined || !(length > 0) || response.body === null) {
    return new Uint8Array(await response.arrayBuffer());
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for await (const part of response.body) {
    bytes.set(part, at);
    at += part.length;
    onProgress(at / length);
  }
  return bytes.subarray(0, at);
}
