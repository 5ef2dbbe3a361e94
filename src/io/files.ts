/**
 * Reading and writing whole files, in Deno and in Node.
 */
import { NotFoundError, PermissionDeniedError, UnimplementedError } from "../core/errors.ts";
import type { Bytes } from "./bytes.ts";

/** What we use of Node's `fs/promises`. */
interface FilePromises {
  readFile(path: string | URL): Promise<Uint8Array>;
  writeFile(path: string | URL, bytes: Uint8Array): Promise<void>;
}

interface NodeProcess {
  getBuiltinModule?(name: string): unknown;
}

async function fileSystem(): Promise<FilePromises> {
  const { Deno: deno, process } = globalThis as {
    Deno?: FilePromises;
    process?: NodeProcess;
  };
  if (deno) return deno;
  const name = "node:fs/promises";
  const builtin = process?.getBuiltinModule?.(name) as FilePromises | undefined;
  if (builtin) return builtin;
  try {
    return await import(/* webpackIgnore: true */ /* @vite-ignore */ name) as FilePromises;
  } catch (e) {
    throw new UnimplementedError(
      "Cannot use files here: this runtime has none, pass bytes instead of a path",
      {
        cause: e,
      },
    );
  }
}

/** The bytes of a file. Rejects with `NotFoundError` where there is none, `UnimplementedError` in browsers. */
export async function readBytes(path: string | URL): Promise<Uint8Array> {
  const fs = await fileSystem();
  try {
    return await fs.readFile(path);
  } catch (e) {
    const { code, name } = e as { code?: string; name?: string };
    if (code === "ENOENT" || name === "NotFound") {
      throw new NotFoundError(`Cannot read ${path}: there is no such file`, { cause: e });
    }
    throw e;
  }
}

/**
 * Writes a file, replacing what was there. Rejects with `NotFoundError` where its folder is not there, `PermissionDeniedError` where it may
 * not be written, `UnimplementedError` in browsers.
 */
export async function writeBytes(path: string | URL, bytes: Bytes): Promise<void> {
  const fs = await fileSystem();
  try {
    await fs.writeFile(path, bytes);
  } catch (e) {
    const { code, name } = e as { code?: string; name?: string };
    if (code === "ENOENT" || name === "NotFound") {
      throw new NotFoundError(`Cannot write ${path}: there is no such folder`, { cause: e });
    }
    if (code === "EACCES" || name === "PermissionDenied" || name === "NotCapable") {
      throw new PermissionDeniedError(`Cannot write ${path}: permission was denied`, { cause: e });
    }
    throw e;
  }
}
