/** Files that are read in parts. */
import { DataLossError, NotFoundError } from "../../engine/core/errors.ts";
import { fetched, fileError, nodeFiles, placeOf } from "./files.ts";
import { readSource } from "./source.ts";

/** A file that is read in parts. */
export interface PartReader {
  /** Reads the bytes from `offset` on. Rejects with `DataLossError` where the file ends before. */
  read(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
  close(): Promise<void>;
}

/** A file whose size is known. */
export interface SizedFile extends PartReader {
  /** Number of bytes. */
  readonly size: number;
  /** Reads as many bytes as `into` has from `offset` on; absent where a read makes its own. Rejects as `read` does. */
  readonly readInto?: (offset: number, into: Uint8Array) => Promise<void>;
}

/** The used part of a handle of Node's `fs/promises`, which Deno has too. */
interface Handle {
  read(
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ bytesRead: number }>;
  stat(): Promise<{ size: number }>;
  close(): Promise<void>;
}

interface FileSystem {
  open(path: string, flags: string): Promise<Handle>;
  rm(path: string, options: { force: boolean }): Promise<void>;
  mkdir(path: string, options: { recursive: boolean }): Promise<unknown>;
  stat(path: string): Promise<{ mtimeMs: number }>;
}

/** Returns the file system of this runtime. Rejects with `UnimplementedError` in browsers. */
export function fileSystem(): Promise<FileSystem> {
  return nodeFiles();
}

/**
 * Opens a file of this machine, or of a server: of one that gives ranges only these are downloaded. In pages a path is relative to the page. Rejects with `NotFoundError` where
 * there is none.
 */
export async function openParts(place: string): Promise<SizedFile> {
  const path = placeOf(place);
  if (/^https?:/i.test(path)) return await openRanges(path) ?? await openWhole(path);
  if (/^(data|blob):/i.test(path)) return await openWhole(path);
  const handle = await open(path);
  const { size } = await handle.stat();
  const readInto = async (offset: number, into: Uint8Array): Promise<void> => {
    const { length } = into;
    for (let at = 0; at < length;) {
      const { bytesRead } = await handle.read(into, at, length - at, offset + at)
        .catch((cause) => {
          throw fileError(cause, `read ${path}`, "file");
        });
      if (bytesRead === 0) throw tooShort(path, offset + length, offset + at);
      at += bytesRead;
    }
  };
  return {
    size,
    readInto,
    async read(offset, length) {
      // Checked before memory is allocated: a damaged index may name any length.
      if (offset + length > size) throw tooShort(path, offset + length, size);
      const out = new Uint8Array(length);
      await readInto(offset, out);
      return out;
    },
    close: () => handle.close(),
  };
}

/** Bytes that are read together with those before them. */
const WINDOW = 1 << 20;

/**
 * Reads parts that mostly follow each other, from one byte to another: small ones together, large ones into the same memory. A part
 * is good until the next is read. Rejects as {@linkcode PartReader.read} does.
 */
export function partsInTurn(
  file: SizedFile,
): (from: number, to: number) => Promise<Uint8Array<ArrayBuffer>> {
  let large = new Uint8Array(0), held = { from: 0, bytes: large };
  return async (from, to) => {
    const length = to - from;
    if (to > file.size || file.readInto === undefined) return await file.read(from, length);
    if (length < WINDOW) {
      if (from < held.from || to > held.from + held.bytes.length) {
        held = { from, bytes: await file.read(from, Math.min(WINDOW, file.size - from)) };
      }
      // A copy, at a start that suits elements of any width.
      return held.bytes.slice(from - held.from, to - held.from);
    }
    if (large.length < length) large = new Uint8Array(length);
    const part = large.subarray(0, length);
    await file.readInto(from, part);
    return part;
  };
}

async function openWhole(url: string): Promise<SizedFile> {
  const { bytes } = await readSource(url);
  return {
    size: bytes.length,
    read: (offset, length) => Promise.resolve(part(bytes, offset, length, url)),
    close: () => Promise.resolve(),
  };
}

/** Bytes of a range that is downloaded for a smaller part: its neighbours are read next. */
const RANGE = 1 << 20;

/** Opens a file of a server that gives ranges; null where it does not. Rejects with `NotFoundError` where there is no file. */
async function openRanges(url: string): Promise<SizedFile | null> {
  const ask = async (from: number, end: number): Promise<Response> => {
    const response = await fetched(url, { headers: { range: `bytes=${from}-${end - 1}` } });
    if (response.status === 206 || response.status === 200) return response;
    await response.body?.cancel();
    throw new NotFoundError(`Cannot read ${url}: the server answered ${response.status}`);
  };
  const first = await ask(0, RANGE);
  const size = Number(/^bytes 0-\d+\/(\d+)$/.exec(first.headers.get("content-range") ?? "")?.[1]);
  if (first.status !== 206 || !Number.isSafeInteger(size)) {
    await first.body?.cancel();
    return null;
  }
  let held = { from: 0, bytes: new Uint8Array(await first.arrayBuffer()) };
  if (held.bytes.length !== Math.min(RANGE, size)) throw tooShort(url, RANGE, held.bytes.length);
  return {
    size,
    async read(offset, length) {
      if (offset + length > size) throw tooShort(url, offset + length, size);
      const isHeld = offset >= held.from && offset + length <= held.from + held.bytes.length;
      if (!isHeld) {
        const end = Math.min(size, offset + Math.max(length, RANGE));
        const response = await ask(offset, end);
        const bytes = response.status === 206 ? new Uint8Array(await response.arrayBuffer()) : null;
        if (bytes?.length !== end - offset) {
          if (bytes === null) await response.body?.cancel();
          throw new DataLossError(
            `Cannot read ${url}: the server gave ${bytes?.length ?? "all"} bytes of a range of ${
              end - offset
            }`,
          );
        }
        if (length >= RANGE) return bytes;
        held = { from: offset, bytes };
      }
      return held.bytes.slice(offset - held.from, offset - held.from + length);
    },
    close: () => Promise.resolve(),
  };
}

async function open(path: string): Promise<Handle> {
  try {
    return await (await fileSystem()).open(path, "r");
  } catch (cause) {
    throw fileError(cause, `read ${path}`, "file");
  }
}

function part(
  bytes: Uint8Array,
  offset: number,
  length: number,
  path: string,
): Uint8Array<ArrayBuffer> {
  if (offset + length > bytes.length) throw tooShort(path, offset + length, bytes.length);
  return new Uint8Array(bytes.subarray(offset, offset + length));
}

function tooShort(path: string, wanted: number, size: number): DataLossError {
  return new DataLossError(`Cannot read ${path}: wanted ${wanted} bytes of it, it has ${size}`);
}
