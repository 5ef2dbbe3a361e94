/** Samples of the ops that pick and put elements by index, and of numbered tensors. */

import { NdArray } from "@weft/weft";
import { any, ints, number, sample, type SampleTable, vector } from "./inputs.ts";

/** An int32 matrix. */
const matrix = (rows: number, ...values: number[]): NdArray =>
  new NdArray("int32", [rows, values.length / rows], Int32Array.from(values));
const half = (value: number): NdArray => new NdArray("float32", [], Float32Array.of(value));
/** More rows than a search goes through. */
const MANY = 70;

/** Products of whole numbers wrap, means of them are rounded. */
const MULTIPLIED = { integersFollowFloats: false } as const;
/** No two are equal, none is zero: there, as in TensorFlow, products have first derivatives only. */
const factors = (...shape: number[]) => ({ shape, low: 0.3, high: 3, distinct: true });
const zeros = { shape: [5], values: [0, 2, 0, 0, 3] };
const AT_ZERO = { ...MULTIPLIED, secondOrder: false } as const;

/** Samples by TensorFlow op name. */
export const ARRAY_INDEX_SAMPLES: SampleTable = {
  GatherV2: [
    sample([any(5, 3), vector(4, 0, 4), number(0)]),
    sample([any(2, 5, 4), matrix(2, 1, 3, 0, 0), number(1)]),
    sample([any(2, 3, 5), matrix(2, 1, 4, 0, 2), number(2)], { batch_dims: 1 }),
    sample([any(2, 3, 8), matrix(2, 2, 0, 1, 1), number(1)], { batch_dims: -1 }),
    sample([any(4), number(2), number(0)]),
    sample([any(4, 2), vector(), number(-2)]),
    sample([any(40, 2), ints(0, 39, MANY), number(0)]),
  ],
  GatherGrad: [
    sample([any(2, 3, 4), vector(4, 0, 4), vector(2, 5, 4), number(1)]),
    sample([any(2, 3, 2), matrix(2, 1, 4, 0, 2), vector(2, 3, 5), number(2)], { batch_dims: 1 }),
    sample([any(3, MANY, 2), ints(0, 19, MANY), vector(3, 20, 2), number(1)]),
  ],
  GatherNd: [
    sample([any(3, 4), matrix(2, 0, 3, 2, 1)]),
    sample([any(3, 4), matrix(3, 2, 0, 2)]),
    sample([any(2, 3, 4), new NdArray("int32", [2, 1, 2], Int32Array.of(0, 2, 1, 1))]),
    sample([any(5), vector(3)]),
    sample([any(2, 2), new NdArray("int32", [3, 0], new Int32Array(0))]),
  ],
  ScatterNd: [
    sample([matrix(3, 1, 3, 1), any(3), vector(5)]),
    sample([matrix(2, 0, 2, 1, 1), any(2, 4), vector(2, 3, 4)]),
    sample([matrix(2, 0, 1), any(2, 3), vector(4, 3)]),
    sample([ints(0, 29, MANY, 1), any(MANY, 3), vector(30, 3)]),
  ],
  TensorScatterAdd: [
    sample([any(5), matrix(3, 1, 3, 1), any(3)]),
    sample([any(30, 3), ints(0, 29, MANY, 1), any(MANY, 3)]),
  ],
  TensorScatterUpdate: [
    sample([any(5), matrix(2, 1, 3), any(2)]),
    sample([any(2, 3, 4), matrix(2, 0, 2, 1, 1), any(2, 4)]),
  ],
  SparseToDense: [
    sample([vector(1, 3), vector(5), any(2), any()]),
    sample([matrix(2, 0, 1, 2, 0), vector(3, 2), any(2), any()]),
    sample([vector(0, 2), vector(4), any(), any()]),
    sample([number(2), vector(4), any(), any()]),
  ],
  UnsortedSegmentSum: [
    sample([any(4, 3), vector(1, 0, 1, -1), number(3)]),
    sample([any(2, 3), matrix(2, 0, 1, 0, 2, 2, 2), number(4)]),
    sample([any(MANY, 2), ints(-1, 29, MANY), number(30)]),
    sample([any(MANY, 4), ints(0, 2, MANY), number(3)]),
  ],
  ...Object.fromEntries(
    ["Max", "Min", "Prod"].map((how) => [`UnsortedSegment${how}`, [
      sample([factors(4, 3), vector(1, 0, 1, -1), number(3)], {}, MULTIPLIED),
      sample([factors(2, 3), matrix(2, 0, 1, 0, 2, 2, 2), number(4)], {}, MULTIPLIED),
      sample([any(0, 2), vector(), number(2)], {}, MULTIPLIED),
      ...(how === "Prod" ? [sample([zeros, vector(1, 0, 1, 1, 0), number(2)], {}, AT_ZERO)] : []),
    ]]),
  ),
  ...Object.fromEntries(
    ["Mean", "Max", "Min", "Prod"].map((how) => [`Segment${how}`, [
      sample([factors(4, 2), vector(0, 0, 2, 2)], {}, MULTIPLIED),
      sample([factors(3), vector(0, 1, 1)], {}, MULTIPLIED),
      ...(how === "Prod" ? [sample([zeros, vector(0, 0, 1, 1, 1)], {}, AT_ZERO)] : []),
    ]]),
  ),
  PickSegments: [
    sample([any(3, 2), vector(2, -1, 0, 2)]),
    sample([any(3), matrix(2, 2, -1, 0, 1)]),
  ],
  FirstEqual: [sample([vector(3, 1, 3, 3, 1, -2)]), sample([vector()]), sample([ints(0, 9, 99)])],
  SegmentSum: [sample([any(4, 2), vector(0, 0, 2, 3)]), sample([any(3), vector(0, 1, 1)])],
  OneHot: [
    sample([ints(-1, 4, 5), number(4), half(1.5), half(-2)]),
    sample([ints(0, 2, 2, 3), number(3), number(1), number(0)], { axis: 1 }),
    sample([ints(0, 2, 3), number(3), number(1), number(0)], { axis: 0 }),
  ],
  Diag: [sample([any(3)]), sample([any(2, 2)]), sample([any(4)])],
  DiagPart: [sample([any(3, 3)]), sample([any(2, 3, 2, 3)])],
  Range: [
    sample([number(0), number(10), number(3)]),
    sample([number(5), number(0), number(-2)]),
    sample([half(0), half(1), half(0.125)]),
  ],
  SobolSample: [sample([number(3), number(5), number(1)])],
  LinSpace: [sample([half(0), half(10), number(11)]), sample([half(3), half(4), number(1)])],
};
