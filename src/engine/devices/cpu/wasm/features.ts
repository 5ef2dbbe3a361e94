/** Features of this engine's WebAssembly, found by validating modules of one function. */

/** Features of WebAssembly that some engines lack. */
export interface WasmFeatures {
  readonly simd: boolean;
  /** Fused multiply-add and the like. */
  readonly relaxed: boolean;
  /** Memory shared between threads. */
  readonly shared: boolean;
  /**
   * Shared memory of fixed size, where that pays: in Deno. It runs V8 without the signal handler that catches bad
   * addresses, so code checks them, and rereads the size of a growing memory for each check. Not on Windows, which
   * reserves memory for all of it.
   */
  readonly fixed: boolean;
}

/** `i8x16.splat` of 0, and `drop`. */
const VECTOR = [0x41, 0, 0xfd, 0x0f], DROP = 0x1a;
/** `f32x4.relaxed_madd`. */
const MADD = [0xfd, 0x85, 0x02];
/** A section with a shared memory of at most one page. */
const SHARED_MEMORY = [5, 4, 1, 3, 0, 1];

/** Probes once; a test may restrict them with `Engine`. */
export function probeFeatures(): WasmFeatures {
  if (typeof WebAssembly !== "object") {
    return { simd: false, relaxed: false, shared: false, fixed: false };
  }
  const { Deno: deno } = globalThis as { Deno?: { build?: { os?: string } } };
  const simd = valid(VECTOR);
  return {
    simd,
    relaxed: valid([...VECTOR, ...VECTOR, ...VECTOR, ...MADD]),
    shared: simd && typeof SharedArrayBuffer === "function" && valid(VECTOR, SHARED_MEMORY),
    fixed: deno !== undefined && deno.build?.os !== "windows",
  };
}

/** True where the engine knows these instructions, which make one value. Written in bytes: pages probe before they load what writes modules. */
function valid(value: readonly number[], memory: readonly number[] = []): boolean {
  const header = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0], types = [1, 4, 1, 0x60, 0, 0];
  const code = [0, ...value, DROP, 0x0b], functions = [3, 2, 1, 0];
  const body = [10, code.length + 2, 1, code.length, ...code];
  return WebAssembly.validate(
    Uint8Array.from([...header, ...types, ...functions, ...memory, ...body]),
  );
}
