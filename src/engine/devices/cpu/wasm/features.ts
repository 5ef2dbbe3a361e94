/** Features of this engine's WebAssembly, found by validating modules of one function. */
import { f32x4 } from "./instructions.ts";
import { ModuleBuilder } from "./module_builder.ts";
import type { F4 } from "./simd.ts";

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

/** Probes once; a test may restrict them with `Engine`. */
export function probeFeatures(): WasmFeatures {
  if (typeof WebAssembly !== "object") {
    return { simd: false, relaxed: false, shared: false, fixed: false };
  }
  const relaxed = valid(false, () => f32x4.relaxedMadd(f32x4.load(0), f32x4.load(16), 1));
  const { Deno: deno } = globalThis as { Deno?: { build?: { os?: string } } };
  return {
    simd: relaxed || valid(false, () => f32x4.add(f32x4.load(0), 1)),
    relaxed,
    shared: typeof SharedArrayBuffer === "function" && valid(true, () => f32x4.const(0)),
    fixed: deno !== undefined && deno.build?.os !== "windows",
  };
}

function valid(shared: boolean, value: () => F4): boolean {
  const m = new ModuleBuilder({ shared });
  m.function("probe", [], null, (f) => f.store(0, value()));
  return WebAssembly.validate(m.finish());
}
