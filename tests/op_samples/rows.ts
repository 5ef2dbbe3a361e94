/** Samples of normalization, order, counting and Fourier transforms. */

import { NdArray } from "@weft/weft";
import {
  any,
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

const EPSILON = { epsilon: 0.01 };
/** Short and long rows, many, one, none. */
const ROWS: readonly (readonly number[])[] = [[2, 3], [5], [2, 3, 4], [0, 3], [3, 515], [130, 8], [
  3,
  1,
]];

const layers = ROWS.map((s) => {
  const columns = s[s.length - 1];
  return { x: any(...s), vector: any(columns), scale: positive(columns) };
});

const image = any(2, 1, 3, 4);
const batchNorm = { epsilon: 0.1 };
const indices = (...rows: number[][]): NdArray =>
  new NdArray("int32", [rows.length, rows[0].length], Int32Array.from(rows.flat()));
const complex = (...shape: number[]) => any(...shape);

const SEARCHES = [
  sample([{ shape: [1, 5], values: [0, 3, 3, 5, 9] }, { shape: [1, 7], low: -1, high: 10 }]),
  sample([{ shape: [4], values: [-2, 0, 0, 1] }, { shape: [9], whole: true }]),
  sample([{ shape: [0] }, any(3)]),
];

export const ROW_OPS: SampleTable = {
  _BatchNorm: [
    sample([any(2, 3), any(3), positive(3), any(3), any(3)], EPSILON),
    sample([any(2, 3, 4), any(3, 1), positive(4), any(), any(2, 1, 1)], EPSILON),
    sample([any(0, 3), any(3), positive(3), any(3), any(3)], EPSILON),
  ],
  _Attention: [
    sample([any(1, 2, 2, 4), any(1, 3, 2, 4), any(1, 3, 2, 4)], { scale: 0.5 }),
    sample([any(2, 3, 1, 8), any(2, 3, 1, 8), any(2, 3, 1, 8)], { scale: 0.5, causal: true }),
    sample([any(1, 9, 1, 4), any(1, 9, 1, 4), any(1, 9, 1, 4)], { scale: 0.5, causal: true }),
  ],
  _LayerNorm: layers.map((l) => sample([l.x, l.scale, l.vector], EPSILON)),
  _LayerNormGrad: layers.map((l) => sample([l.x, l.x, l.scale], EPSILON, { gpuUlps: 512 })),
  FusedBatchNormV3: [
    sample([image, positive(4), any(4), any(4), positive(4)], batchNorm, {
      dtypes: ["float32", "float64"],
      ulps: 256,
    }),
    sample([image, positive(1), any(1), any(1), positive(1)], {
      ...batchNorm,
      data_format: "NCHW",
      is_training: false,
    }, { dtypes: ["float32", "float64"], ulps: 256 }),
    sample([image, positive(4), any(4), any(4), positive(4)], {
      ...batchNorm,
      exponential_avg_factor: 0.25,
    }, { dtypes: ["float32"], ulps: 256 }),
  ],
  LRN: [
    sample([image], { depth_radius: 1, alpha: 0.5, beta: 0.75 }, { ulps: 64 }),
    sample([any(1, 2, 1, 7)], { depth_radius: 5, bias: 2 }, { ulps: 64 }),
    sample([any(0, 2, 1, 3)], {}),
  ],
  LRNGrad: [
    sample([image, image, image], { depth_radius: 1, alpha: 0.5, beta: 0.75 }, {
      ulps: 256,
      // The image stands for the output too, which is a function of it.
      gradient: false,
    }),
  ],
  _WindowSum: [
    sample([any(2, 7)], { radius: 2 }),
    sample([any(5)], { radius: 9 }),
    sample([any(3, 300)], { radius: 0 }),
    sample([any(0, 4)], { radius: 1 }),
  ],
  TopKV2: [
    sample([distinct(2, 7), number(3)]),
    sample([distinct(5), number(5)]),
    sample([distinct(2, 3, 4), number(0)]),
    sample([distinct(3, 1200), number(20)]),
    sample([floats([6], 1, NaN, 3, 3, -Infinity, NaN), number(6)], {}, { gradient: false }),
  ],
  _Pick: [
    sample([any(2, 5), indices([4, 0, 2], [1, 2, 3])]),
    sample([any(1, 3), indices([2])]),
  ],
  _Place: [
    sample([indices([4, 0, 2], [1, 2, 3]), any(2, 3), number(5)]),
    sample([indices([2]), any(1, 1), number(3)]),
  ],
  LowerBound: SEARCHES,
  UpperBound: SEARCHES,
  Bincount: [
    sample([ints(0, 6, 9), number(5), typed("float32", 0)]),
    sample([ints(0, 6, 9), number(9), typed("int32", 9)]),
    sample([ints(0, 1, 0), number(2), typed("float64", 0)]),
  ],
  DenseBincount: [
    sample([ints(0, 6, 2, 9), number(5), typed("float32", 0)]),
    sample([ints(0, 6, 9), number(9), typed("int32", 9)], { binary_output: true }),
    sample([ints(0, 4, 3, 4), number(5), typed("float32", 3, 4)], {}, { gpuUlps: 8 }),
  ],
  FFT: [sample([complex(2, 8)]), sample([complex(3, 5)]), sample([complex(1)])],
  IFFT: [sample([complex(2, 8)]), sample([complex(3, 5)]), sample([complex(1)])],
  _FFTAlong: [
    sample([complex(3, 8)]),
    sample([complex(2, 5, 4)], { inverse: true }),
    sample([complex(4, 2, 3)], { axis: -3 }),
    sample([complex(2, 11, 3)]),
  ],
  RFFT: [
    sample([typed("float32", 2, 8), vector(8)]),
    sample([typed("float64", 3, 5), vector(7)], { Tcomplex: "complex128" }),
    sample([typed("float32", 6), vector(4)]),
  ],
  IRFFT: [
    sample([typed("complex64", 2, 5), vector(8)]),
    sample([typed("complex128", 3, 5), vector(7)], { Treal: "float64" }),
    sample([typed("complex64", 3), vector(8)]),
  ],
  _RFFTAdjoint: [
    sample([typed("complex64", 2, 5), vector(8), number(8)]),
    sample([typed("complex64", 3), vector(4), number(6)]),
    sample([typed("complex128", 4), vector(7), number(5)], { Treal: "float64" }),
  ],
  _IRFFTAdjoint: [
    sample([typed("float32", 2, 8), vector(8), number(5)]),
    sample([typed("float32", 4), vector(4), number(5)]),
    sample([typed("float64", 7), vector(7), number(3)], { Tcomplex: "complex128" }),
  ],
};
