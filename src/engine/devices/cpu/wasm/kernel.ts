/** Kernels: modules of one function of addresses and numbers, written with vector code. */
import type { Engine, WasmFunction } from "../engine.ts";
import type { Local } from "./function_builder.ts";
import type { ModuleBuilder } from "./module_builder.ts";
import { type HostImports, Simd } from "./simd.ts";

/** Returns the kernel of `params` parameters that `write` writes; built once for each key. */
export function kernel(
  engine: Engine,
  key: string,
  params: number,
  write: (s: Simd, params: readonly Local<"i32">[], m: ModuleBuilder) => void,
  imports?: (m: ModuleBuilder) => HostImports,
): WasmFunction {
  return engine.compile(key, (m) => {
    const hosts = imports?.(m);
    m.function("run", new Array<"i32">(params).fill("i32"), null, (f, ...p) => {
      write(new Simd(f, engine.features.relaxed, hosts), p, m);
    });
  }).run;
}
