/**
 * What this engine's WebAssembly can do, found by validating modules of one function.
 * May import the emitter.
 */
import { ModuleBuilder } from "./module_builder.ts";
import { f32x4 } from "./instructions.ts";

/** Parts of WebAssembly that not every engine has. */
export interface WasmFeatures {
  /** 128-bit vectors. */
  readonly simd: boolean;
  /** Fused multiply-add and its kind. */
  readonly relaxed: boolean;
  /** Memory shared between threads. */
  readonly shared: boolean;
}

/** Looks once; a test may ask for less than there is with `Engine`. */
export function probeFeatures(): WasmFeatures {
  if (typeof WebAssembly !== "object") return { simd: false, relaxed: false, shared: false };
  const relaxed = valid(false, () => f32x4.relaxedMadd(f32x4.load(0), f32x4.load(16), 1));
  return {
    simd: relaxed || valid(false, () => f32x4.add(f32x4.load(0), 1)),
    relaxed,
    shared: typeof SharedArrayBuffer === "function" && valid(true, () => f32x4.const(0)),
  };
}

function valid(shared: boolean, value: () => ReturnType<typeof f32x4.const>): boolean {
  const m = new ModuleBuilder({ shared });
  m.function("probe", [], null, (f) => f.store(0, value()));
  return WebAssembly.validate(m.finish());
}
