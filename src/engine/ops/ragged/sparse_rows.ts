/** Softmax of the rows of sparse tensors, and the larger and smaller of two. On the host. */
import { apply1 } from "../../core/apply.ts";
import { NdArray, setElement } from "../../core/nd_array.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { sameShape } from "../../core/shape.ts";
import { hostInts } from "../array/view.ts";
import { refuse } from "../host/arrays.ts";
import { asTensor, intVector } from "../input.ts";
import { mul, sub } from "../pointwise/arithmetic.ts";
import { entriesOf, matrix, order, SparseReduceSum, sumGradient } from "./sparse_parts.ts";

/** The softmax of each row's elements; the gradient is that of the dense one. */
export const SparseSoftmax: OpDef = defineOp({
  name: "SparseSoftmax",
  inputs: ["sp_indices: int64", "sp_values: T", "sp_shape: int64"],
  outputs: ["output: T"],
  attrs: ["T: {float16, float32, float64}"],
  infer: ([, values]) => [values.shape],
  grad: {
    saves: ["sp_indices", "sp_shape", "output"],
    vjp: ({ sp_indices, sp_shape, output }, [dy]) => {
      const axes = asTensor(intVector([-1]));
      const inputs = [sp_indices, mul(output, dy), sp_shape, axes];
      const sums = apply1(SparseReduceSum, inputs, { keep_dims: true });
      const own = sumGradient(sums, sp_indices, sp_shape, axes);
      return [null, mul(output, sub(dy, own)), null];
    },
  },
  cpu: ([indices, values, dims], [out]) => {
    const extents = hostInts(dims), last = extents.length - 1;
    if (extents.length < 2) refuse("Input should have rank >= 2");
    const entries = entriesOf(indices, extents);
    const sameRow = (i: number, k: number): boolean =>
      entries[i].at.every((v, d) => d === last || v === entries[k].at[d]);
    for (let from = 0; from < entries.length;) {
      let to = from + 1, most = Number(values.at(from)), sum = 0;
      for (; to < entries.length && sameRow(from, to); to++) {
        most = Math.max(most, Number(values.at(to)));
      }
      const powers = Array.from({ length: to - from }, (_, i) => {
        const power = Math.exp(Number(values.at(from + i)) - most);
        sum += power;
        return power;
      });
      powers.forEach((power, i) => setElement(out, from + i, power / sum));
      from = to;
    }
  },
});

/** Defines an op that combines the elements of two sparse tensors; those that are not there are 0. */
function definePaired(name: string, pick: (x: number, y: number) => boolean): OpDef {
  return defineOp({
    name,
    inputs: [
      ...["a_indices: int64", "a_values: T", "a_shape: int64"],
      ...["b_indices: int64", "b_values: T", "b_shape: int64"],
    ],
    outputs: ["output_indices: int64", "output_values: T"],
    attrs: ["T: real"],
    infer: ([a]) => [[null, a.shape?.[1] ?? null], [null]],
    grad: null,
    cpu: ([aIndices, a, aShape, bIndices, b, bShape]) => {
      const extents = hostInts(aShape), others = hostInts(bShape);
      if (!sameShape(extents, others)) {
        refuse(`Operands' shapes do not match: received [${extents}] and [${others}]`);
      }
      const left = entriesOf(aIndices, extents), right = entriesOf(bIndices, extents);
      const zero = NdArray.zeros(a.dtype, [1]).at(0) as number;
      const kept: (readonly number[])[] = [], values: number[] = [];
      for (let i = 0, j = 0; i < left.length || j < right.length;) {
        const x = left[i], y = right[j];
        const side = x === undefined ? 1 : y === undefined ? -1 : order(x.at, y.at);
        const p = side <= 0 ? a.at(x.i) as number : zero;
        const q = side >= 0 ? b.at(y.i) as number : zero;
        kept.push((side > 0 ? y : x).at);
        values.push(pick(p, q) ? p : q);
        if (side <= 0) i++;
        if (side >= 0) j++;
      }
      const out = NdArray.zeros(a.dtype, [values.length]);
      values.forEach((v, k) => setElement(out, k, v));
      return [matrix(kept, extents.length), out];
    },
  });
}

/** The larger elements. */
export const SparseSparseMaximum: OpDef = definePaired("SparseSparseMaximum", (x, y) => x > y);
/** The smaller elements. */
export const SparseSparseMinimum: OpDef = definePaired("SparseSparseMinimum", (x, y) => x < y);
