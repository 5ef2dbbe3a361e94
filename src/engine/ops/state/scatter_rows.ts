/** Changes rows of an array in place: the other rows stay as they are. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { defineOp, lookupOp, type OpDef } from "../../core/op.ts";
import { mergeShapes } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { ontoLayout } from "../../kernels/copy/gather_layout.ts";
import { scatterCpu } from "../../kernels/host/scatter.ts";
import { cumsum } from "../reduce/scan.ts";
import { sum } from "../reduce/reduce.ts";
import { equal } from "../pointwise/compare.ts";
import { cast } from "../array/cast.ts";
import { gather } from "../array/gather.ts";
import { expandDims } from "../array/view.ts";
import { intScalar } from "../input.ts";

/**
 * Writes or adds rows in place: it runs in the given memory. Graphs do not have this op. On the GPU rows with an index
 * out of range are ignored.
 */
export const OntoRows: OpDef = defineOp({
  name: "_OntoRows",
  portable: { never: "it changes memory that it is given" },
  inputs: ["indices: Tindices", "updates: T"],
  outputs: ["output: T"],
  attrs: ["T: type", "Tindices: index", "shape: shape", "how: string"],
  infer: (_, { shape }) => [shape],
  grad: null,
  meaning: { kind: "special", kernel: "onto rows" },
  cpu: ([indices, updates], [out], problem) =>
    scatterCpu(updates, indices, ontoLayout(problem), out, { how: problem.attrs.how, onto: true }),
});

/** Returns for each element of a vector the place of the first equal one. */
export const FirstEqual: OpDef = defineOp({
  name: "FirstEqual",
  portable: "parts",
  inputs: ["x: T"],
  outputs: ["places: int32"],
  attrs: ["T: {int32, int64}"],
  infer: ([x]) => [mergeShapes(x.shape, [null])],
  grad: null,
  meaning: { kind: "special", kernel: "first equal" },
  cpu: ([x], [out]) => {
    const first = new Map<number | bigint, number>();
    const from = x.data as Int32Array, to = out.data as Int32Array;
    for (let i = 0; i < to.length; i++) {
      let place = first.get(from[i]);
      if (place === undefined) first.set(from[i], place = i);
      to[i] = place;
    }
  },
  // Number of elements before the first equal one.
  expand: ([x]) => {
    const seen = cumsum(cast(equal(expandDims(x, 1), x), "int32"), 1);
    return [sum(cast(equal(seen, 0), "int32"), 1)];
  },
});

/** Replaces each row by the sum of all rows with its index: the number of rows stays, so that it need not be read. */
export function sumRepeats(rows: Tensor, indices: Tensor): Tensor {
  const count: OpInput = rows.staticShape?.[0] == null
    ? apply1(lookupOp("Size")!, [indices])
    : intScalar(rows.staticShape[0]);
  const first = apply1(FirstEqual, [indices]);
  return gather(apply1(lookupOp("UnsortedSegmentSum")!, [rows, first, count]), first);
}
