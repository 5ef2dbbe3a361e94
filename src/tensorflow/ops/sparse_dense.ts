/** Combines values of a sparse tensor with a dense tensor's at their places, which only files have. On the host. */
import { defineOp } from "../../engine/core/op.ts";
import { type NdArray, setElement } from "../../engine/core/nd_array.ts";
import { stridesOf } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { gather, gatherND } from "../../engine/ops/array/gather.ts";
import { stack } from "../../engine/ops/array/join.ts";
import { scatterND } from "../../engine/ops/array/scatter.ts";
import { slice } from "../../engine/ops/array/slice.ts";
import { hostInts, rank, shape } from "../../engine/ops/array/view.ts";
import { div, mul, neg, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { notEqual } from "../../engine/ops/pointwise/compare.ts";
import { sum } from "../../engine/ops/reduce/reduce.ts";
import { refuse } from "../../engine/ops/host/arrays.ts";

/** Returns the dense position of each sparse index. Throws `InvalidArgumentError` for one that does not fit. */
function placesIn(dense: NdArray, indices: NdArray, dims: NdArray): number[] {
  const extents = hostInts(dims), offset = extents.length - dense.rank;
  if (offset < 0 || dense.shape.some((d, i) => d !== 1 && d !== extents[offset + i])) {
    refuse(
      `Cannot broadcast the dense tensor to the sparse one: got incompatible shapes [${extents}] and [${dense.shape}]`,
    );
  }
  if (indices.rank !== 2 || indices.shape[1] !== extents.length) {
    refuse(
      `Indices should be a matrix of ${extents.length} columns but received shape [${indices.shape}]`,
    );
  }
  const at = hostInts(indices), strides = stridesOf(dense.shape);
  return Array.from({ length: indices.shape[0] }, (_, row) => {
    const index = at.slice(row * extents.length, (row + 1) * extents.length);
    if (index.some((v, d) => v < 0 || v >= extents[d])) {
      refuse(`Index [${index}] at row ${row} is out of range of shape [${extents}]`);
    }
    return strides.reduce(
      (place, stride, i) => place + (dense.shape[i] === 1 ? 0 : stride * index[offset + i]),
      0,
    );
  });
}

/** Returns the index vectors of a dense tensor's places; an axis of extent 1 repeats. */
function denseIndices(indices: Tensor, dense: Tensor): Tensor {
  const first = sub(gather(shape(indices), 1), rank(dense));
  const last = slice(cast(indices, "int32"), stack([cast(0, "int32"), first]), [-1, -1]);
  return mul(last, cast(notEqual(shape(dense), 1), "int32"));
}

function defineCwise(
  name: string,
  combine: (a: number, b: number) => number,
  slopes: (values: Tensor, dense: Tensor, dy: Tensor) => readonly [Tensor, Tensor],
): void {
  defineOp({
    name: `SparseDenseCwise${name}`,
    inputs: ["sp_indices: int64", "sp_values: T", "sp_shape: int64", "dense: T"],
    outputs: ["output: T"],
    attrs: ["T: real"],
    infer: ([, values]) => [values.shape],
    grad: {
      saves: ["sp_indices", "sp_values", "dense"],
      vjp: ({ sp_indices, sp_values, dense }, [dy], { inputs }) => {
        if (inputs[3].shape?.length === 0) {
          const [dvalues, part] = slopes(sp_values, dense, dy);
          return [null, dvalues, null, sum(part)];
        }
        const at = denseIndices(sp_indices, dense);
        const [dvalues, part] = slopes(sp_values, gatherND(dense, at), dy);
        return [null, dvalues, null, scatterND(at, part, shape(dense))];
      },
    },
    cpu: ([indices, values, dims, dense], [out]) => {
      placesIn(dense, indices, dims).forEach((place, i) => {
        setElement(out, i, combine(values.at(i) as number, dense.at(place) as number));
      });
    },
  });
}

defineCwise("Add", (a, b) => a + b, (_values, _dense, dy) => [dy, dy]);
defineCwise("Mul", (a, b) => a * b, (values, dense, dy) => [mul(dy, dense), mul(dy, values)]);
defineCwise("Div", (a, b) => a / b, (values, dense, dy) => {
  const dvalues = div(dy, dense);
  return [dvalues, neg(mul(dvalues, div(values, dense)))];
});
