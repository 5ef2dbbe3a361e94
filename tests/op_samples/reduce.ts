/** Samples of reductions, scans, and what works along rows. */

import { NdArray } from "@weft/weft";
import {
  any,
  bools,
  distinct,
  floats,
  ints,
  number,
  positive,
  sample,
  type SampleTable,
  typed,
  vector,
} from "./inputs.ts";
import type { OpSample, SampleValues } from "@weft/weft/testing";

type Draw = (...shape: number[]) => SampleValues;

/** Shapes and axes that reach every kernel: rows, columns, both, all, none, empty, longer than a workgroup. */
const CASES: readonly (readonly [readonly number[], readonly number[]])[] = [
  [[2, 3], [1]],
  [[2, 3], [0]],
  [[2, 3, 4], [0, 2]],
  [[2, 3, 4], [1]],
  [[5], [0]],
  [[], []],
  [[2, 3], []],
  [[2, 3, 4], [-1, -3]],
  [[1, 7, 1], [1]],
  [[0, 3], [1]],
  [[3, 1031], [1]],
  [[1031, 3], [0]],
  [[3, 5, 7, 2], [1, 3]],
];
const NO_ELEMENTS = sample([any(0, 3), vector(0)], {}, { gradient: false });

function reductions(
  draw: Draw,
  rest: Omit<OpSample, "inputs" | "attrs"> = {},
  empty = true,
): OpSample[] {
  return [
    ...CASES.map(([s, axes], i) =>
      sample([draw(...s), vector(...axes)], { keep_dims: i % 2 === 1 }, rest)
    ),
    ...(empty ? [{ ...NO_ELEMENTS, ...rest, gradient: false }] : []),
  ];
}

const near1: Draw = (...shape) => ({ shape, low: 0.9, high: 1.1 });

/** Sum over axes in plain loops. */
function sumLoop(
  [x, axes]: readonly NdArray[],
  attrs: { readonly [k: string]: unknown },
): NdArray[] {
  const set = new Set(Array.from(axes.data as Int32Array, (a) => (a < 0 ? a + x.rank : a)));
  const kept = x.shape.map((d, i) => (set.has(i) ? 1 : d));
  const out = NdArray.zeros(x.dtype, kept);
  const data = out.data as Float64Array;
  for (let i = 0; i < x.size; i++) {
    let rest = i, at = 0, step = 1;
    for (let d = x.rank - 1; d >= 0; d--) {
      const c = rest % x.shape[d];
      rest = Math.floor(rest / x.shape[d]);
      if (!set.has(d)) at += c * step;
      step *= kept[d];
    }
    data[at] += (x.data as Float64Array)[i];
  }
  return [attrs.keep_dims ? out : out.reshape(x.shape.filter((_, i) => !set.has(i)))];
}
const SUM = reductions(any, { dtypes: ["float32", "float64"], reference: sumLoop });

/** Mean of integers truncates as TensorFlow's does. */
const OWN_INTEGERS = { integersFollowFloats: false } as const;

const scans = (draw: Draw): OpSample[] => [
  sample([draw(2, 3), number(1)]),
  sample([draw(2, 3), number(0)], { exclusive: true }),
  sample([draw(4, 3, 2), number(1)], { reverse: true }),
  sample([draw(5), number(-1)], { exclusive: true, reverse: true }),
  sample([draw(1), number(0)]),
  sample([draw(0, 3), number(0)]),
  sample([draw(3, 1031), number(1)]),
  sample([draw(300, 3), number(0)], { exclusive: true }),
];

/** Rows for softmax and its like: short, long, many, one, none. */
const rows = (draw: Draw, rest: Omit<OpSample, "inputs" | "attrs"> = {}): OpSample[] =>
  [[2, 3], [5], [3, 1], [2, 3, 4], [0, 3], [3, 1031], [257, 3]].map((s) =>
    sample([draw(...s)], {}, rest)
  );

const wide: Draw = (...shape) => ({ shape, low: -30, high: 30 });

export const REDUCE: SampleTable = {
  Sum: [...reductions(any), ...SUM],
  Mean: reductions(any, OWN_INTEGERS),
  Prod: reductions(near1, { dtypes: ["float32", "int32", "float64", "complex64", "int64"] }),
  Max: [
    ...reductions(distinct, { secondOrder: false }),
    sample([floats([2, 3], 1, NaN, 2, -Infinity, -0, 0), vector(1)], {}, { gradient: false }),
  ],
  Min: [
    ...reductions(distinct, { secondOrder: false }),
    sample([floats([2, 3], 1, NaN, 2, Infinity, -0, 0), vector(1)], {}, { gradient: false }),
  ],
  EuclideanNorm: reductions(positive, {}, false),
  Any: reductions(bools),
  All: reductions(bools),
  ArgMax: [
    sample([distinct(2, 3), number(1)], { output_type: "int32" }),
    sample([distinct(2, 3), number(0)], { output_type: "int32" }),
    sample([distinct(2, 3, 4), number(-2)], { output_type: "int64" }),
    sample([distinct(3, 1031), number(1)], { output_type: "int32" }),
    sample([distinct(1031, 3), number(0)], { output_type: "int32" }),
    sample([{ shape: [6], values: [1, 3, 3, 2] }, number(0)], { output_type: "int32" }),
    sample([distinct(0, 3), number(1)], { output_type: "int32" }),
  ],
  ArgMin: [
    sample([distinct(2, 3), number(1)], { output_type: "int32" }),
    sample([distinct(2, 3, 4), number(0)], { output_type: "int32" }),
    sample([distinct(3, 1031), number(1)], { output_type: "int32" }),
    sample([{ shape: [6], values: [3, 1, 1, 2] }, number(0)], { output_type: "int32" }),
  ],
  Cumsum: scans(any),
  Cumprod: scans(near1),
  _LinearScan: [
    sample([near1(2, 3), any(2, 3), number(1)]),
    sample([near1(4, 3, 2), any(4, 3, 2), number(0)], { reverse: true }),
    sample([near1(3, 40), any(3, 40), number(1)], { shift: true }),
    sample([near1(3, 40), any(3, 40), number(1)], { shift: true, reverse: true }),
  ],
  _Shift: [
    sample([any(2, 5), number(1)], { by: 1 }),
    sample([any(2, 5), number(0)], { by: -1 }),
    sample([any(3, 4, 2), number(1)], { by: 2 }),
  ],
  _KeptShape: [sample([vector(2, 3, 4), vector(1)]), sample([vector(2, 3, 4), vector(0, -1)])],
  _CheckedGradient: [
    sample([any(2, 3), vector(2, 3)], { texts: ["", ""] }),
    sample([any(), vector()], { texts: ["", ""] }),
  ],
  SumLike: [
    sample([any(2, 3), any(3)]),
    sample([any(2, 3), any(2, 1)]),
    sample([any(2, 3), any()]),
    sample([any(2, 3), any(2, 3)]),
  ],
  Softmax: [...rows(any), ...rows(wide).slice(0, 2)],
  LogSoftmax: [...rows(any), ...rows(wide).slice(0, 2)],
  _SoftmaxGrad: [sample([positive(2, 3), any(2, 3)]), sample([positive(3, 1031), any(3, 1031)])],
  _LogSoftmaxGrad: [
    sample([any(2, 3), any(2, 3)]),
    sample([{ shape: [3, 1031], low: -9, high: -5 }, any(3, 1031)]),
  ],
  SoftmaxCrossEntropyWithLogits: [
    // The gradient takes the labels of a row to sum up to 1.
    sample([any(2, 3), { shape: [2, 3], values: [0.25, 0.5, 0.25] }]),
    sample([any(1, 4), { shape: [1, 4], values: [0.25, 0, 0.75, 0] }]),
    sample([any(3, 320), { shape: [3, 320], values: [0.003125] }]),
    sample([any(0, 3), positive(0, 3)]),
  ],
  SparseSoftmaxCrossEntropyWithLogits: [
    sample([any(3, 4), ints(0, 3, 3)], {}, {}),
    sample([any(2, 300), ints(0, 299, 2)]),
    sample([any(1, 1), ints(0, 0, 1)]),
  ],
};
void typed;
