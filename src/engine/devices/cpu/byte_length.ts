/** Sizes of tensors in memory. */
import { DTYPES } from "../../core/dtype.ts";
import { sizeOf } from "../../core/shape.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";

/** Bytes of a value's block. */
export function byteLength(spec: ConcreteSpec): number {
  return sizeOf(spec.shape) * DTYPES[spec.dtype].bytes;
}
