/** Reading whole files, in Deno and in Node; paths and URLs, and errors of file systems and servers. */
import { describe } from "../../engine/core/text.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import {
  FailedPreconditionError,
  NotFoundError,
  PermissionDeniedError,
  UnavailableError,
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
  const { process } = globalThis as {
    process?: { getBuiltinModule?(name: string): unknown; versions?: { readonly node?: string } };
  };
  const name = "node:fs/promises";
  const builtin = process?.getBuiltinModule?.(name) as T | undefined;
  if (builtin) return builtin;
  // A page would ask its server for such a module, and write to the console that there is none.
  if (process?.versions?.node !== undefined) {
    return await import(/* webpackIgnore: true */ /* @vite-ignore */ name) as T;
  }
  throw new UnimplementedError(
    "Cannot use files here: this runtime has none; read URLs, blobs or bytes, and write bytes, as tf.io.serializeVariables() does",
  );
}

/** Returns a path or a URL; in pages a path is relative to the page. */
export function placeOf(path: string): string {
  const { process, location } = globalThis as {
    process?: { readonly versions?: { readonly node?: string } };
    location?: { readonly href: string };
  };
  const isPath = !/^[a-z][a-z\d+.-]+:/i.test(path);
  if (!isPath || process?.versions?.node !== undefined || location === undefined) return path;
  return URL.canParse(path, location.href) ? new URL(path, location.href).href : path;
}

/** Returns true for what is fetched, and not read from the files of this machine. */
export function isFetched(place: string): boolean {
  return /^(https?|data|blob):/i.test(place);
}

/**
 * Fetches a file. Rejects with `NotFoundError` where the server has no such file, `UnavailableError` where it does not answer, with the
 * signal's reason once it is aborted.
 */
export async function fetched(url: URL | string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, init).catch((cause) => {
    init.signal?.throwIfAborted();
    const { message, cause: deeper } = cause as { message: string; cause?: { message?: string } };
    throw new UnavailableError(
      `Cannot read ${url}: ${deeper?.message || message}${hintOfOrigin(url)}`,
      { cause },
    );
  });
  if (response.ok) return response;
  await response.body?.cancel();
  throw new NotFoundError(`Cannot read ${url}: the server answered ${response.status}`);
}

/** The usual reason in a page, which browsers do not tell programs: a server of another origin that does not name the page's. */
function hintOfOrigin(url: URL | string): string {
  const { location } = globalThis as { location?: { readonly href: string } };
  const [page, place] = [location?.href ?? "", String(url)].map((href) =>
    /^https?:/i.test(href) && URL.canParse(href) ? new URL(href).origin : null
  );
  if (page === null || place === null || page === place) return "";
  return `; a server of another origin must answer and allow ${page} in Access-Control-Allow-Origin`;
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

/**
 * Returns the path of a URL of a file, as `import.meta.resolve` returns one; any other path or URL as it is. `file://./a` and
 * `file://a` are relative to the working directory, as in TensorFlow.js.
 */
export function pathOf(source: string | URL): string {
  const text = String(source);
  const relative = /^file:\/\/(?!\/|localhost\/)(.+)$/i.exec(text)?.[1];
  if (relative !== undefined && typeof source === "string") return relative;
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
    const hint = what.includes("\n") ? "; if that is its text, give a Blob of it" : "";
    return new NotFoundError(`Cannot ${what}: there is no such ${missing}${hint}`, { cause });
  }
  if (code === "EACCES" || name === "PermissionDenied" || name === "NotCapable") {
    return new PermissionDeniedError(`Cannot ${what}: permission was denied`, { cause });
  }
  const isFolder = code === "EISDIR" || name === "IsADirectory";
  return new FailedPreconditionError(`Cannot ${what}: ${isFolder ? "it is a folder" : message}`, {
    cause,
  });
}
