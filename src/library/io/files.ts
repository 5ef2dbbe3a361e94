/** Reading and writing whole files, in Deno and in Node. */
import { describe } from "../../engine/core/text.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import {
  FailedPreconditionError,
  NotFoundError,
  PermissionDeniedError,
  UnimplementedError,
} from "../../engine/core/errors.ts";
import type { Bytes } from "./bytes.ts";

/** The used functions of Node's `fs/promises`, and of Deno, on whole files. */
interface WholeFiles {
  readFile(path: string | URL): Promise<Uint8Array>;
  writeFile(path: string | URL, bytes: Uint8Array): Promise<void>;
}

/**
 * Returns Node's `fs/promises`, which Deno has too. Rejects with `UnimplementedError` where the runtime has no files,
 * as in browsers.
 */
export async function nodeFiles<T>(): Promise<T> {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
  const name = "node:fs/promises";
  const builtin = process?.getBuiltinModule?.(name) as T | undefined;
  if (builtin) return builtin;
  try {
    return await import(/* webpackIgnore: true */ /* @vite-ignore */ name) as T;
  } catch (cause) {
    throw new UnimplementedError(
      "Cannot use paths here: this runtime has no files, pass URLs, blobs or bytes instead",
      { cause },
    );
  }
}

/** Works on whole files. A failure becomes an error of ours that says `what` could not be done. */
async function withFiles<T>(
  work: (files: WholeFiles) => Promise<T>,
  what: string,
  missing: string,
): Promise<T> {
  const { Deno: deno } = globalThis as { Deno?: WholeFiles };
  const files = deno ?? await nodeFiles<WholeFiles>();
  try {
    return await work(files);
  } catch (e) {
    throw fileError(e, what, missing);
  }
}

/**
 * Reads a file. Rejects with `NotFoundError` where there is none, `PermissionDeniedError` where it may not be read,
 * `FailedPreconditionError` for a folder, `UnimplementedError` in browsers.
 */
export async function readBytes(path: string | URL): Promise<Uint8Array> {
  const file = fileOf(path);
  return await withFiles((files) => files.readFile(file), `read ${path}`, "file");
}

/**
 * Writes a file, replacing an earlier one. Rejects with `NotFoundError` where its folder is not there,
 * `PermissionDeniedError` where it may not be written, `FailedPreconditionError` where a folder has its name,
 * `UnimplementedError` in browsers.
 */
export async function writeBytes(path: string | URL, bytes: Bytes): Promise<void> {
  const file = fileOf(path);
  await withFiles((files) => files.writeFile(file, bytes), `write ${path}`, "folder");
}

/**
 * Converts a path for file systems: a text that is a URL of a file, as `import.meta.resolve` returns one, names that
 * file. Throws `TypeError` for any other value.
 */
export function fileOf(path: string | URL): string | URL {
  if (typeof path !== "string" && !(path instanceof URL)) {
    throw new TypeError(`Cannot use ${describe(path)} as a path: wanted a string or a URL`);
  }
  return typeof path === "string" && /^file:\//i.test(path) && URL.canParse(path)
    ? new URL(path)
    : path;
}

/**
 * Converts an error of a file system to one of ours: those of Node have a code, those of Deno a name, some of them
 * both.
 */
export function fileError(cause: unknown, what: string, missing: string): Error {
  const { code, name, message } = cause as { code?: string; name: string; message: string };
  if (code === "ENOENT" || code === "ENOTDIR" || name === "NotFound" || name === "NotADirectory") {
    return new NotFoundError(`Cannot ${what}: there is no such ${missing}`, { cause });
  }
  if (code === "EACCES" || name === "PermissionDenied" || name === "NotCapable") {
    return new PermissionDeniedError(`Cannot ${what}: permission was denied`, { cause });
  }
  return new FailedPreconditionError(`Cannot ${what}: ${message}`, { cause });
}
