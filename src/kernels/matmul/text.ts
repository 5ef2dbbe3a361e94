/**
 * Types of buffers in WGSL.
 */
import { wgslType } from "../../core/gpu_storage.ts";
import type { DType } from "../../core/dtype.ts";

/** WGSL type of a buffer of this dtype read one or four at a time. */
export function elementType(dtype: DType, wide: boolean): string {
  return wide ? `vec4<${wgslType(dtype)}>` : wgslType(dtype);
}
