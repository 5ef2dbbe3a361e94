/**
 * What this engine's WebAssembly can do, found by validating modules of one function.
 * May import the emitter.
 */
import { ModuleBuilder } from "./module_builder.ts";
import { f32x4 } from "./instructions.ts";
import { VectorStruct } from "./objects.ts";
import type { F4 } from "./simd.ts";

/** Parts of WebAssembly that not every engine has. */
export interface WasmFeatures {
  /** 128-bit vectors. */
  readonly simd: boolean;
  /** Fused multiply-add and its kind. */
  readonly relaxed: boolean;
  /** Memory shared between threads. */
  readonly shared: boolean;
  /**
   * Vectors in objects of the engine's heap, where that pays: in Deno. It runs V8 without the signal handler that catches bad
   * addresses, so loads from linear memory are checked in code, and those of fields are not.
   */
  readonly objects: boolean;
}

/** Looks once; a test may ask for less than there is with `Engine`. */
export function probeFeatures(): WasmFeatures {
  if (typeof WebAssembly !== "object") {
    return { simd: false, relaxed: false, shared: false, objects: false };
  }
  const relaxed = valid(false, () => f32x4.relaxedMadd(f32x4.load(0), f32x4.load(16), 1));
  return {
    simd: relaxed || valid(false, () => f32x4.add(f32x4.load(0), 1)),
    relaxed,
    shared: typeof SharedArrayBuffer === "function" && valid(true, () => f32x4.const(0)),
    objects: "Deno" in globalThis && valid(false, (m) => {
      const struct = new VectorStruct(m, 1);
      return struct.get("f32x4", struct.make(), 0);
    }),
  };
}

function valid(shared: boolean, value: (m: ModuleBuilder) => F4): boolean {
  const m = new ModuleBuilder({ shared });
  m.function("probe", [], null, (f) => f.store(0, value(m)));
  return WebAssembly.validate(m.finish());
}
