/** Sums and maxima of sparse tensors over axes, as dense tensors, which only files have. On the host. */
import { defineOp, type GradRule, type OpDef } from "../../core/op.ts";
import { NdArray, setElement } from "../../core/nd_array.ts";
import { normalizeAxes, type PartialShape, sizeOf, stridesOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { gatherND } from "../array/gather.ts";
import { hostInts, reshape, shape as shapeOf } from "../array/view.ts";
import { add, mod, mul, sub } from "../pointwise/arithmetic.ts";
import { equal } from "../pointwise/compare.ts";
import { any } from "../reduce/reduce.ts";
import { refuse } from "../host/arrays.ts";
import { addElements, iota } from "./sums.ts";

/** Returns the remaining axes, and the shape with ones for the reduced ones. */
function reduced(shape: readonly number[], axes: NdArray): { kept: number[]; ones: number[] } {
  const gone = normalizeAxes(hostInts(axes), shape.length);
  const kept = shape.map((_, i) => i).filter((i) => !gone.includes(i));
  return { kept, ones: shape.map((d, i) => (gone.includes(i) ? 1 : d)) };
}

function defineSparseReduce(
  name: string,
  { types, combine, grad }: {
    readonly types: "numeric" | "real";
    readonly combine: (a: unknown, b: unknown) => unknown;
    readonly grad: GradRule | null;
  },
): OpDef {
  return defineOp({
    name,
    inputs: [
      "input_indices: int64",
      "input_values: T",
      "input_shape: int64",
      "reduction_axes: int32",
    ],
    outputs: ["output: T"],
    attrs: ["keep_dims: bool = false", `T: ${types}`],
    hostInputs: ["input_shape", "reduction_axes"],
    infer: ([, , { value: dims }, { value: axes }], { keep_dims }): PartialShape[] => {
      if (dims === undefined || axes === undefined) return [null];
      const shape = hostInts(dims), { kept, ones } = reduced(shape, axes);
      return [keep_dims ? ones : kept.map((i) => shape[i])];
    },
    grad,
    cpu: ([indices, values, dims, axes], _, { attrs }) => {
      const shape = hostInts(dims), { kept, ones } = reduced(shape, axes);
      const rank = shape.length, at = hostInts(indices), strides = stridesOf(ones);
      const out = NdArray.zeros(values.dtype, attrs.keep_dims ? ones : kept.map((i) => shape[i]));
      const seen = new Uint8Array(sizeOf(ones));
      for (let i = 0; i < indices.shape[0]; i++) {
        const index = at.slice(i * rank, (i + 1) * rank);
        const wrong = index.findIndex((v, d) => v < 0 || v >= shape[d]);
        if (wrong >= 0) {
          refuse(
            `Index ${
              index[wrong]
            } of axis ${wrong} at row ${i} is out of range of shape [${shape}]`,
          );
        }
        const place = kept.reduce((sum, d) => sum + index[d] * strides[d], 0);
        const value = values.at(i), before = out.at(place);
        setElement(out, place, (seen[place] ? combine(before, value) : value) as number);
        seen[place] = 1;
      }
      return [out];
    },
  });
}

function sumGradient(dy: Tensor, indices: Tensor, dims: Tensor, axes: Tensor): Tensor {
  const extents = cast(dims, "int32"), rank = reshape(shapeOf(extents), []);
  const places = reshape(mod(add(axes, rank), rank), [-1, 1]);
  const isGone = cast(any(equal(places, iota(rank)), 0), "int32"), stays = sub(1, isGone);
  const ones = add(mul(extents, stays), isGone);
  return gatherND(reshape(dy, ones), mul(cast(indices, "int32"), stays));
}

/** Sums of entries along axes, as a dense tensor. */
export const SparseReduceSum: OpDef = defineSparseReduce("SparseReduceSum", {
  types: "numeric",
  combine: addElements,
  grad: {
    saves: ["input_indices", "input_shape", "reduction_axes"],
    vjp: ({ input_indices, input_shape, reduction_axes }, [dy]) => [
      null,
      sumGradient(dy, input_indices, input_shape, reduction_axes),
      null,
      null,
    ],
  },
});
defineSparseReduce("SparseReduceMax", {
  types: "real",
  // Both are numbers, or both are 64-bit.
  combine: (a, b) => (b as number > (a as number) ? b : a),
  grad: null,
});
