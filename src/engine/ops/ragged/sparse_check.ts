/** Checks indices of sparse tensors, which kernels of a GPU pass over in silence. */
import { apply1 } from "../../core/apply.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { hostInts } from "../array/view.ts";

const CheckedIndices: OpDef = defineOp({
  name: "_CheckedIndices",
  inputs: ["indices: T", "dense_shape: T"],
  outputs: ["output: T"],
  attrs: ["T: index"],
  portable: "parts",
  infer: ([indices]) => [indices.shape],
  grad: null,
  cpu: ([indices, { data }], [out]) => {
    const all = hostInts(indices), dims = Array.from(data as ArrayLike<number>, Number);
    const bad = all.findIndex((at, i) => !(at >= 0 && at < dims[i % dims.length]));
    if (bad >= 0) {
      const row = Math.floor(bad / dims.length);
      const index = all.slice(row * dims.length, (row + 1) * dims.length);
      throw new InvalidArgumentError(
        `indices[${row}] = ${shapeText(index).replaceAll(",", ", ")} does not index into shape ${
          shapeText(dims)
        }`,
      );
    }
    (out.data as Int32Array).set(indices.data as Int32Array);
  },
});

/** Indices whose check passed, eagerly. */
const passed = new WeakSet<Tensor>();

/**
 * Returns the indices, checked on the host: once for each tensor of eager code, once a run in graphs. The read that needs them throws
 * `InvalidArgumentError` for one out of range.
 */
export function checkedIndices(
  { indices, denseShape }: { readonly indices: Tensor; readonly denseShape: Tensor },
): Tensor {
  if (indices.isSymbolic || denseShape.isSymbolic) {
    return apply1(CheckedIndices, [indices, denseShape]);
  }
  if (!passed.has(indices)) {
    apply1(CheckedIndices, [indices, denseShape]).dispose();
    passed.add(indices);
  }
  return indices;
}
