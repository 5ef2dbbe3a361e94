/**
 * The platform of programs: fetching, time, texts. Browsers, Deno and Node share one, as they have the same functions.
 */
import type { Platform } from "./environment.ts";
import { Error } from "../../engine/core/throwing/builtin_errors.ts";

/**
 * True where the web's functions exist: in pages, their workers and Deno. Elsewhere packages load Node's modules by
 * `require`, which modules in Deno lack.
 */
export function isBrowser(): boolean {
  const scope = globalThis as { document?: unknown; WorkerGlobalScope?: unknown; Deno?: unknown };
  const isPage = scope.document !== undefined && scope.document !== null;
  return isPage || scope.Deno !== undefined || scope.WorkerGlobalScope !== undefined && !isNode();
}

/** True where Node's modules exist: in Node and in Deno. */
export function isNode(): boolean {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  return typeof process?.versions?.node === "string";
}

/** The platform of this process. */
export const platform: Platform = {
  fetch: (path, requestInits) => fetch(path, requestInits),
  now: () => performance.now(),
  encode(text, encoding) {
    if (!/^utf-?8$/i.test(encoding)) throw new Error(`Cannot encode as ${encoding}: wanted utf-8`);
    return new TextEncoder().encode(text);
  },
  decode: (bytes, encoding) => bytes.length === 0 ? "" : new TextDecoder(encoding).decode(bytes),
  setTimeoutCustom: (functionRef, delay) => void setTimeout(functionRef, delay),
  isTypedArray,
};

/** True for a typed array that tensors are made of. */
export function isTypedArray(
  a: unknown,
): a is Float32Array | Int32Array | Uint8Array | Uint8ClampedArray {
  return a instanceof Float32Array || a instanceof Int32Array || a instanceof Uint8Array ||
    a instanceof Uint8ClampedArray;
}
