/** Reading whole files, in Deno and in Node; paths, and errors of file systems. */
import { describe } from "../../engine/core/text.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import {
  FailedPreconditionError,
  NotFoundError,
  PermissionDeniedError,
  UnimplementedError,
} from "../../engine/core/errors.ts";

/** The used function of Node's `fs/promises`, and of Deno. */
interface WholeFiles {
  readFile(path: string): Promise<Uint8Array>;
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

/**
 * Reads a file. Rejects with `NotFoundError` where there is none, `PermissionDeniedError` where it may not be read,
 * `FailedPreconditionError` for a folder, `UnimplementedError` in browsers.
 */
export async function readBytes(path: string | URL): Promise<Uint8Array> {
  const file = fileOf(path);
  const { Deno: deno } = globalThis as { Deno?: WholeFiles };
  const files = deno ?? await nodeFiles<WholeFiles>();
  try {
    return await files.readFile(file);
  } catch (e) {
    throw fileError(e, `read ${path}`, "file");
  }
}

/** Converts a path for file systems, by {@linkcode pathOf}. Throws `TypeError` for any other value. */
export function fileOf(path: string | URL): string {
  if (typeof path !== "string" && !(path instanceof URL)) {
    throw new TypeError(`Cannot use ${describe(path)} as a path: wanted a string or a URL`);
  }
  return pathOf(path);
}

/** Returns the path of a URL of a file, as `import.meta.resolve` returns one; any other path or URL as it is. */
export function pathOf(source: string | URL): string {
  const text = String(source);
  if (!/^file:\//i.test(text) || !URL.canParse(text)) return text;
  const path = decodeURIComponent(new URL(text).pathname);
  return /^\/[A-Za-z]:/.test(path) ? path.slice(1) : path;
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
