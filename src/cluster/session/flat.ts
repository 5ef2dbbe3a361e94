/** Variables and their gradients as one vector, which is read and sent in one piece. */
import { gradientsOfVariables } from "../../engine/autodiff/grad_functions.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { sizeOf } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { tensor, zeros } from "../../engine/ops/array/creation.ts";
import { concat } from "../../engine/ops/array/join.ts";
import { slice } from "../../engine/ops/array/slice.ts";
import { reshape } from "../../engine/ops/array/view.ts";
import { tidy } from "../../engine/runtime/eager/tensor.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";

/** Reads the loss and the gradients of all variables at once. */
export async function gradientOf(
  loss: () => Tensor,
  variables: readonly Variable[],
): Promise<{ loss: number; gradient: NdArray }> {
  const flat = tidy(() => {
    const { value, resources, grads } = gradientsOfVariables(loss, variables);
    const of = new Map(resources.map((r, i) => [r, grads[i]]));
    return concat([
      reshape(value, [1]),
      ...variables.map((v) => reshape(of.get(v.resource) ?? zeros(v.shape), [sizeOf(v.shape)])),
    ]);
  });
  try {
    const data = await flat.data() as Float32Array;
    return { loss: data[0], gradient: new NdArray("float32", [data.length - 1], data.subarray(1)) };
  } finally {
    flat.dispose();
  }
}

export async function flatten(variables: readonly Variable[]): Promise<NdArray> {
  const flat = tidy(() => concat(variables.map((v) => reshape(v, [sizeOf(v.shape)]))));
  try {
    return await flat.ndarray();
  } finally {
    flat.dispose();
  }
}

/** Assigns each variable its part of the values. */
export function spread(values: NdArray, variables: readonly Variable[]): void {
  tidy(() => {
    const all = tensor(values);
    let at = 0;
    for (const v of variables) {
      const size = sizeOf(v.shape);
      v.assign(reshape(slice(all, [at], [size]), v.shape));
      at += size;
    }
  });
}
