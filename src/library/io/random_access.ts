/** Files that are read in parts. */
import { DataLossError } from "../../engine/core/errors.ts";
import { fileError, nodeFiles } from "./files.ts";
import { readSource } from "./source.ts";

/** A file that is read in parts. */
export interface PartReader {
  /** Reads the bytes from `offset` on. Rejects with `DataLossError` where the file ends before. */
  read(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
  close(): Promise<void>;
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

/** Opens a file of this machine, or downloads one. Rejects with `NotFoundError` where there is none. */
export async function openParts(path: string): Promise<PartReader> {
  if (/^(https?|data|blob):/i.test(path)) {
    const { bytes } = await readSource(path);
    return {
      read: (offset, length) => Promise.resolve(part(bytes, offset, length, path)),
      close: () => Promise.resolve(),
    };
  }
  const handle = await open(path);
  const { size } = await handle.stat();
  return {
    async read(offset, length) {
      // Checked before memory is allocated: a damaged index may name any length.
      if (offset + length > size) throw tooShort(path, offset + length, size);
      const out = new Uint8Array(length);
      for (let at = 0; at < length;) {
        const { bytesRead } = await handle.read(out, at, length - at, offset + at);
        if (bytesRead === 0) throw tooShort(path, offset + length, offset + at);
        at += bytesRead;
      }
      return out;
    },
    close: () => handle.close(),
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
