// What the runner needs of a system: its name for the table and a way to wait for its device.

import type { Device, Output } from "../row.ts";

/** A library set up on one device. */
export interface Peer {
  readonly name: string;
  readonly version: string;
  readonly device: Device;
  /** What does the arithmetic, for example "wasm, SIMD, 1 thread". */
  readonly engine: string;
  /** Resolves when all work queued so far is done; `last` is the output of the last call. */
  finish(last: Output): Promise<void>;
  /** Resolves when its threads sleep; only where they look for more work for a while after the last call. */
  settle?(): Promise<void>;
}

/** The folder an npm package is installed in. */
export async function packageFolder(name: string): Promise<URL> {
  // Deno resolves a package to a file only after it was imported by that name.
  await import(name);
  // Not every package exports its package.json, so it is looked for above the entry point.
  for (let folder = new URL(".", import.meta.resolve(name)); folder.pathname !== "/";) {
    const found = await Deno.stat(new URL("package.json", folder)).catch(() => null);
    if (found?.isFile) return folder;
    folder = new URL("../", folder);
  }
  throw new Error(`Cannot find the folder of package "${name}"`);
}

/** The version of an npm package. */
export async function versionOf(name: string): Promise<string> {
  const manifest = new URL("package.json", await packageFolder(name));
  return JSON.parse(await Deno.readTextFile(manifest)).version;
}
