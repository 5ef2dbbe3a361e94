// What the runner needs of a system: its name for the table and a way to wait for its device.

import map from "../../import_map.json" with { type: "json" };
import type { Device, Output } from "../row.ts";

/** A library set up on one device. */
export interface Peer {
  readonly name: string;
  readonly version: string;
  readonly device: Device;
  /** Its arithmetic engine, for example "wasm, SIMD, 1 thread". */
  readonly engine: string;
  /** Resolves when all work queued so far is done; `last` is the output of the last call. */
  finish(last: Output): Promise<void>;
  /** Resolves when its threads sleep; only where they look for more work for a while after the last call. */
  settle?(): Promise<void>;
}

/** The version of an npm package, by the map that leads to it: programs that were bundled have no packages to look into. */
export function versionOf(name: keyof typeof map.imports): string {
  return map.imports[name].split("@").at(-1)!;
}
