/**
 * Writing files, in Deno and in Node. A file that is replaced is written beside, brought to the disk and renamed, so that a crash
 * or a full disk leaves the old one whole; a file that grows in place is cut back where a write fails.
 */
import { DataLossError, PermissionDeniedError } from "../../engine/core/errors.ts";
import { fileError, fileOf, nodeFiles } from "./files.ts";

/** A file that is being written. */
export interface FileWriter {
  /** Appends all of the bytes. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends the file. One that replaces another takes its place now; it rejects and leaves the other where a write has failed. */
  close(): Promise<void>;
  /** Gives the file up: one that was to replace another is removed. */
  drop(): Promise<void>;
}

interface Handle {
  write(bytes: Uint8Array, offset: number, length: number): Promise<{ bytesWritten: number }>;
  truncate(length: number): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** The used part of `node:fs/promises`. */
interface FileSystem {
  open(path: string, flags: string, mode?: number): Promise<Handle>;
  mkdir(path: string, options: { recursive: boolean }): Promise<unknown>;
  readdir(path: string): Promise<string[]>;
  realpath(path: string): Promise<string>;
  rename(from: string, to: string): Promise<void>;
  rm(path: string, options: { force: boolean }): Promise<void>;
  stat(path: string): Promise<{ isFile(): boolean; mode: number; mtimeMs: number }>;
}

/** Locks of files and permissions, which only Deno has. */
interface DenoFiles {
  open(path: string, options: { write: true }): Promise<LockedFile>;
  readonly permissions: {
    query(wanted: { name: "read"; path: string }): Promise<{ readonly state: string }>;
  };
}

interface LockedFile {
  tryLock(exclusive: true): Promise<boolean>;
  close(): void;
}

const deno = (globalThis as { Deno?: Partial<DenoFiles> }).Deno as DenoFiles | undefined;

/** Name of a file beside the one that it will replace. */
const BESIDE = /\.tmp-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Milliseconds in which a writer locks the file that it has made. */
const UNTIL_LOCKED = 2_000;
/** Milliseconds after its last write when a file without a lock counts as left behind, where the runtime has no locks. */
const WITHOUT_LOCKS = 3_600_000;

/** Opens a file that replaces one of its path when it is closed. Rejects with `NotFoundError` where its folder is not there. */
export async function openReplacement(path: string | URL): Promise<FileWriter> {
  const given = fileOf(path), fs = await nodeFiles<FileSystem>();
  const before = await existing(fs, given);
  // Devices and pipes are no files that another could replace.
  if (before !== null && !before.isFile) return await openGrowing(path);
  const target = before?.path ?? given;
  if (!await mayRead(folderOf(target))) {
    throw new PermissionDeniedError(
      `Cannot write ${path}: replacing a file needs permission to read and write in its folder`,
    );
  }
  const beside = `${target}.tmp-${crypto.randomUUID()}`;
  return await renamed(async () => {
    await removeLeftovers(fs, folderOf(target));
    const file = await fs.open(beside, "wx", before?.mode ?? 0o666);
    const lock = await lockOf(beside);
    let failed: unknown = null;
    const end = async (): Promise<void> => {
      lock?.close();
      await file.close();
    };
    const drop = async (): Promise<void> => {
      await end().catch(() => {});
      await fs.rm(beside, { force: true });
    };
    return {
      write: (bytes) =>
        renamed(() => writeAll(file, bytes), path).catch((error) => {
          failed = error;
          throw error;
        }),
      async close() {
        if (failed !== null) {
          await drop();
          throw new DataLossError(`Cannot write ${path}: an earlier write of it failed`, {
            cause: failed,
          });
        }
        await renamed(async () => {
          try {
            await file.sync();
            await end();
            await fs.rename(beside, target);
          } catch (error) {
            await drop();
            throw error;
          }
        }, path);
      },
      drop,
    };
  }, path);
}

/** Opens a file that others read while it grows, and truncates it. What a failed write has written of its bytes is cut off again. */
export async function openGrowing(path: string | URL): Promise<FileWriter> {
  const given = fileOf(path), fs = await nodeFiles<FileSystem>();
  // Opened for appending, so that what follows a cut begins there. Pipes and devices have no length.
  const file = await renamed(() => fs.open(given, "a"), path);
  await file.truncate(0).catch(() => {});
  let size = 0;
  const close = (): Promise<void> => file.close();
  return {
    async write(bytes) {
      await renamed(async () => {
        try {
          await writeAll(file, bytes);
        } catch (error) {
          await file.truncate(size).catch(() => {});
          throw error;
        }
      }, path);
      size += bytes.length;
    },
    close,
    drop: close,
  };
}

/** Options of {@linkcode writeBytes} and {@linkcode writeChunks}. */
interface WriteOptions {
  /** True to make the file's folder where it is not there. Default false. */
  readonly makeFolder?: boolean;
}

/**
 * Writes a file, replacing an earlier one in one step: a crash or a full disk leaves the old or the new one. Rejects with
 * `NotFoundError` where its folder is not there and `makeFolder` is false, `PermissionDeniedError` where it may not be written,
 * `FailedPreconditionError` where a folder has its name, `UnimplementedError` in browsers.
 */
export async function writeBytes(
  path: string | URL,
  bytes: Uint8Array,
  options: WriteOptions = {},
): Promise<void> {
  await writeChunks(path, [bytes], options);
}

/** Writes a file as {@linkcode writeBytes} does, of bytes that are asked for one after the other. */
export async function writeChunks(
  path: string | URL,
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  { makeFolder = false }: WriteOptions = {},
): Promise<void> {
  if (makeFolder) {
    const fs = await nodeFiles<FileSystem>();
    await renamed(() => fs.mkdir(folderOf(fileOf(path)), { recursive: true }), path);
  }
  const file = await openReplacement(path);
  try {
    for await (const chunk of together(chunks)) await file.write(chunk);
  } catch (error) {
    await file.drop();
    throw error;
  }
  await file.close();
}

/** Bytes that are written at once. */
const BLOCK = 1 << 20;

/** Joins small chunks, whose writes would each cost more than they do; a chunk is good until the next is asked for. */
async function* together(
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let block: Uint8Array | null = null, used = 0;
  for await (const chunk of chunks) {
    const isLarge = chunk.length > BLOCK / 2;
    if (used > 0 && (isLarge || used + chunk.length > BLOCK)) {
      yield block!.subarray(0, used);
      used = 0;
    }
    if (isLarge) yield chunk;
    else {
      (block ??= new Uint8Array(BLOCK)).set(chunk, used);
      used += chunk.length;
    }
  }
  if (used > 0) yield block!.subarray(0, used);
}

/** Removes a file, if there is one. */
export async function removeFile(path: string): Promise<void> {
  await (await nodeFiles<FileSystem>()).rm(path, { force: true });
}

/** Runs `work`, and converts errors of the file system to ours. */
async function renamed<T>(work: () => Promise<T>, path: string | URL): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw fileError(error, `write ${path}`, "folder");
  }
}

async function writeAll(file: Handle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    at += (await file.write(bytes, at, bytes.length - at)).bytesWritten;
  }
}

function folderOf(path: string): string {
  const slash = path.replaceAll("\\", "/").lastIndexOf("/");
  return slash < 0 ? "." : path.slice(0, slash + 1);
}

/** Returns the file that a path leads to by links, and its mode; null where there is none, or where this may not be asked. */
async function existing(
  fs: FileSystem,
  path: string,
): Promise<{ path: string; isFile: boolean; mode: number } | null> {
  if (!await mayRead(path)) return null;
  try {
    const target = await fs.realpath(path), stat = await fs.stat(target);
    return { path: target, isFile: stat.isFile(), mode: stat.mode & 0o777 };
  } catch {
    return null;
  }
}

/** Returns true where reading a path asks for no permission. */
async function mayRead(path: string): Promise<boolean> {
  if (deno?.permissions === undefined) return true;
  return (await deno.permissions.query({ name: "read", path })).state === "granted";
}

/** Locks a file until it is closed or its process dies; null where that cannot be done. */
async function lockOf(path: string): Promise<LockedFile | null> {
  let file: LockedFile | null = null;
  try {
    file = await deno?.open(path, { write: true }) ?? null;
    if (await file?.tryLock(true)) return file;
  } catch { /* Some file systems have no locks. */ }
  file?.close();
  return null;
}

/** Removes files of a folder that were to replace others and whose writers have died. */
async function removeLeftovers(fs: FileSystem, folder: string): Promise<void> {
  const names = await fs.readdir(folder).catch((): string[] => []);
  for (const name of names) {
    if (!BESIDE.test(name)) continue;
    const path = `${folder}/${name}`;
    try {
      const age = Date.now() - (await fs.stat(path)).mtimeMs;
      const lock = age > UNTIL_LOCKED ? await lockOf(path) : null;
      lock?.close();
      if (lock !== null || age > WITHOUT_LOCKS) await fs.rm(path, { force: true });
    } catch { /* Another writer has removed it, or it is not ours to remove. */ }
  }
}
