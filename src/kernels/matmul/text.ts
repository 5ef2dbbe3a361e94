/**
 * Pieces of WGSL that kernels share.
 */
import { wgslType } from "../../core/gpu_storage.ts";
import type { DType } from "../../core/dtype.ts";

/** WGSL type of a buffer of this dtype read one or four at a time. */
export function elementType(dtype: DType, wide: boolean): string {
  return wide ? `vec4<${wgslType(dtype)}>` : wgslType(dtype);
}

/**
 * The text of a value that is true where all conditions are. `&&` would branch, which a chain of loads need not, and which
 * SwiftShader takes exponential time and memory to compile in a loop.
 */
export function allOf(conditions: readonly string[]): string {
  return conditions.map((c) => (/^\w+$/.test(c) ? c : `(${c})`)).join(" & ");
}
