/** Sources of files: a path, a URL, bytes or a stream, read whole. */
import { wantObject } from "../../engine/core/arguments.ts";
import { describe } from "../../engine/core/text.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { DataLossError } from "../../engine/core/errors.ts";
import { concatBytes } from "./bytes.ts";
import { fetched, isFetched, placeOf, readBytes } from "./files.ts";

/** A file: its path, its URL, its bytes, a blob as the files that a page is given, or a stream of bytes. */
export type FileSource =
  | string
  | URL
  | Uint8Array
  | ArrayBuffer
  | Blob
  | ReadableStream<Uint8Array>;

export interface FileContent {
  readonly bytes: Uint8Array;
  /** Name in errors. */
  readonly name: string;
}

/** Options of reading a source. */
export interface SourceOptions {
  /** Is told how much of a download is there, from 0 to 1. */
  readonly onProgress?: (fraction: number) => void;
  /** Ends a download. */
  readonly signal?: AbortSignal;
}

/** Reads a file whole. Rejects with `NotFoundError` where there is none, `UnavailableError` where a server does not answer, `TypeError` for an invalid source. */
export async function readSource(
  source: FileSource,
  options: SourceOptions = {},
): Promise<FileContent> {
  wantObject(options, "options", "a read");
  options.signal?.throwIfAborted();
  options.onProgress?.(0);
  const content = await readWhole(source, options);
  options.onProgress?.(1);
  return content;
}

async function readWhole(source: FileSource, options: SourceOptions): Promise<FileContent> {
  if (source instanceof Uint8Array) {
    return { bytes: plainBytes(source), name: `${source.length} bytes` };
  }
  if (source instanceof ArrayBuffer) return readWhole(new Uint8Array(source), options);
  if (source instanceof Blob) {
    const name = source instanceof File ? source.name : `a blob of ${source.size} bytes`;
    return { bytes: new Uint8Array(await source.arrayBuffer()), name };
  }
  if (source instanceof ReadableStream) {
    const parts: Uint8Array[] = [];
    for await (const part of source) parts.push(part);
    return { bytes: parts.length === 1 ? parts[0] : concatBytes(parts), name: "a stream" };
  }
  if (typeof source !== "string" && !(source instanceof URL)) {
    throw new TypeError(
      `Cannot read a file: wanted a path, a URL, a Uint8Array, an ArrayBuffer, a Blob or a ReadableStream, as a response's body is one, received ${
        describe(source)
      }`,
    );
  }
  const url = asUrl(source);
  if (url === null) return { bytes: plainBytes(await readBytes(source)), name: String(source) };
  return { bytes: await download(url, options), name: url.href };
}

/** Returns bytes as a plain array: `slice` of Node's Buffer, which its files are, makes no copy. */
function plainBytes(bytes: Uint8Array): Uint8Array {
  if (bytes.constructor === Uint8Array) return bytes;
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Returns the URL of a source to fetch, in pages of a path too; null for files of this machine. */
export function asUrl(source: string | URL): URL | null {
  const place = placeOf(String(source));
  return isFetched(place) ? new URL(place) : null;
}

/** A download under way. */
export interface Download {
  /** Returns the next bytes; null at the end. Rejects with `DataLossError` where the connection breaks or the answer is too short. */
  pull(): Promise<Uint8Array | null>;
  /** Number of bytes; null where the server does not tell. */
  readonly length: number | null;
}

/** Begins a download. Rejects with `NotFoundError` where the server has no such file, with the signal's reason once it is aborted. */
export async function openDownload(
  url: URL,
  { onProgress, signal }: SourceOptions = {},
): Promise<Download> {
  const response = await fetched(url, signal === undefined ? {} : { signal });
  // A compressed answer's length is not that of its bytes.
  const told = response.headers.has("content-encoding")
    ? NaN
    : Number(response.headers.get("content-length") ?? NaN);
  const length = told > 0 ? told : null, reader = response.body?.getReader();
  let at = 0;
  return {
    length,
    async pull() {
      const part = await nextPart(url, reader, signal);
      if (part === null) {
        if (length === null || at === length) return null;
        throw new DataLossError(`Cannot read ${url.href}: it ended after ${at} bytes of ${length}`);
      }
      at += part.length;
      if (length !== null) onProgress?.(at / length);
      return part;
    },
  };
}

async function nextPart(
  url: URL,
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
  signal: AbortSignal | undefined,
): Promise<Uint8Array | null> {
  try {
    const { value } = await reader?.read() ?? {};
    return value ?? null;
  } catch (cause) {
    signal?.throwIfAborted();
    throw new DataLossError(`Cannot read ${url.href}: the connection broke`, { cause });
  }
}

/** Bytes that are allocated because a server says so. */
const MOST_AT_ONCE = 2 ** 31;

async function download(url: URL, options: SourceOptions): Promise<Uint8Array> {
  const { pull, length } = await openDownload(url, options);
  if (length === null || length > MOST_AT_ONCE) {
    const parts: Uint8Array[] = [];
    for (let part = await pull(); part !== null; part = await pull()) parts.push(part);
    return parts.length === 1 ? parts[0] : concatBytes(parts);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (let part = await pull(); part !== null; part = await pull()) {
    if (at + part.length > length) {
      throw new DataLossError(`Cannot read ${url.href}: it goes on after ${length} bytes`);
    }
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
