/**
 * Modules of one function that is written with vector code.
 */
import { type Engine, type WasmFunction, words } from "../engine.ts";
import type { Local } from "./function_builder.ts";
import type { ModuleBuilder } from "./module_builder.ts";
import { type HostImports, Simd } from "./simd.ts";

/** What {@linkcode Engine.kernel} is, for vector code that may call what `imports` imports. */
export function vectorKernel(
  engine: Engine,
  key: string,
  params: number,
  write: (s: Simd, params: readonly Local<"i32">[]) => void,
  imports?: (m: ModuleBuilder) => HostImports,
): WasmFunction {
  return engine.compile(key, (m) => {
    const hosts = imports?.(m);
    m.function("run", words(params), null, (f, ...p) => {
      write(new Simd(f, engine.features.relaxed, hosts), p);
    });
  }).run;
}
