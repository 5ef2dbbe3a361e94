/** Problems of complex64 as problems of float32: the parts of each number lie side by side. */
import type { DType } from "../../core/dtype.ts";
import type { Problem } from "../../core/op.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";

/** True where a kernel reads or writes complex64. */
export function hasComplex({ inputs, hosts, outputs }: Problem): boolean {
  return inputs.some(({ dtype }, i) => dtype === "complex64" && hosts[i] === undefined) ||
    outputs.some(({ dtype }) => dtype === "complex64");
}

/** Returns the number of float32 or other words of one element: 2 for complex64. */
export function partsOf(dtype: DType): 1 | 2 {
  return dtype === "complex64" ? 2 : 1;
}

/** Returns the dtype of the parts of an element. */
export function partType(dtype: DType): DType {
  return dtype === "complex64" ? "float32" : dtype;
}

/** Returns the spec of the parts: an axis more where elements have two. */
export function inParts({ dtype, shape }: ConcreteSpec): ConcreteSpec {
  return dtype === "complex64" ? { dtype: "float32", shape: [...shape, 2] } : { dtype, shape };
}
