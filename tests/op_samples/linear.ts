/** Samples of matrix products, convolutions and pooling. */

import { any, distinct, floats, ints, sample, type SampleTable, typed, vector } from "./inputs.ts";
import type { OpSample, SampleInput, SampleValues } from "@weft/weft/testing";
import { NdArray } from "@weft/weft";

/** Product of two matrices in plain loops. */
function matMulLoop(
  [a, b]: readonly NdArray[],
  attrs: { readonly [k: string]: unknown },
): NdArray[] {
  const ta = attrs.transpose_a === true, tb = attrs.transpose_b === true;
  const [m, k] = ta ? [a.shape[1], a.shape[0]] : a.shape;
  const n = tb ? b.shape[0] : b.shape[1];
  const out = NdArray.zeros(a.dtype, [m, n]);
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      let sum = 0;
      for (let l = 0; l < k; l++) {
        sum += Number(ta ? a.get(l, i) : a.get(i, l)) * Number(tb ? b.get(j, l) : b.get(l, j));
      }
      (out.data as Float64Array)[i * n + j] = sum;
    }
  }
  return [out];
}

/** Product of x with random levels. */
function levelsProduct(
  x: SampleValues,
  words: readonly [number, number, number],
  zeros: SampleInput,
  attrs: OpSample["attrs"],
): OpSample {
  const levels = ints(-(2 ** 31), 2 ** 31 - 1, ...words);
  return sample([x, levels, typed("float32", ...words.slice(0, 2)), zeros], attrs);
}

const MAT_SHAPES: readonly (readonly [number, number, number])[] = [
  [2, 3, 4],
  [1, 1, 1],
  [7, 13, 5],
  [33, 65, 17],
  [64, 32, 48],
  [1, 129, 40],
  [40, 129, 1],
  [0, 3, 2],
  [2, 0, 3],
];
const floating = ["float32", "float64"] as const;
const numbers = ["float32", "int32", "float64", "complex64"] as const;

function matMuls(): OpSample[] {
  return [
    ...MAT_SHAPES.map(([m, k, n]) => sample([any(m, k), any(k, n)])),
    ...MAT_SHAPES.slice(0, 5).map(([m, k, n]) =>
      sample([any(k, m), any(n, k)], { transpose_a: true, transpose_b: true }, {
        dtypes: floating,
        reference: matMulLoop,
      })
    ),
    sample([any(9, 6), any(9, 4)], { transpose_a: true }, {
      reference: matMulLoop,
      dtypes: floating,
    }),
    sample([any(6, 9), any(4, 9)], { transpose_b: true }, {
      reference: matMulLoop,
      dtypes: floating,
    }),
  ];
}

const batched = (): OpSample[] => [
  sample([any(2, 3, 4), any(2, 4, 5)]),
  sample([any(2, 4, 3), any(2, 5, 4)], { adj_x: true, adj_y: true }),
  sample([any(3, 2, 9, 17), any(3, 2, 17, 9)]),
  sample([any(2, 3, 16), any(2, 16, 1)]),
  sample([any(2, 5, 9), any(2, 9, 33)]),
  sample([any(0, 2, 3), any(0, 3, 2)]),
];

const pair = (s: number): number[] => [1, s, s, 1];
const conv = (
  input: readonly number[],
  filter: readonly number[],
  attrs: { readonly [k: string]: unknown },
): OpSample => sample([any(...input), any(...filter)], attrs);

const CONV = [
  conv([1, 4, 4, 1], [2, 2, 1, 1], { strides: pair(1), padding: "VALID" }),
  conv([2, 5, 6, 3], [3, 3, 3, 4], { strides: pair(1), padding: "SAME" }),
  conv([1, 7, 7, 2], [3, 2, 2, 5], { strides: pair(2), padding: "SAME" }),
  conv([1, 9, 8, 2], [3, 3, 2, 3], { strides: pair(1), padding: "VALID", dilations: pair(2) }),
  conv([1, 5, 5, 2], [3, 3, 2, 2], {
    strides: pair(1),
    padding: "EXPLICIT",
    explicit_paddings: [0, 0, 1, 2, 0, 1, 0, 0],
  }),
  conv([2, 4, 4, 8], [1, 1, 8, 4], { strides: pair(1), padding: "VALID" }),
  conv([1, 2, 5, 5], [3, 3, 2, 3], { strides: [1, 1, 2, 2], padding: "SAME", data_format: "NCHW" }),
  conv([0, 4, 4, 2], [2, 2, 2, 3], { strides: pair(1), padding: "VALID" }),
];

const cube = (s: number): number[] => [1, s, s, s, 1];
const pool = (
  shape: readonly number[],
  attrs: { readonly [k: string]: unknown },
  draw: (...s: number[]) => SampleValues,
): OpSample => sample([draw(...shape)], attrs, { secondOrder: draw === any });
const POOLS: readonly (readonly [readonly number[], { readonly [k: string]: unknown }])[] = [
  [[1, 4, 4, 1], { ksize: pair(2), strides: pair(2), padding: "VALID" }],
  [[2, 5, 6, 3], { ksize: pair(3), strides: pair(2), padding: "SAME" }],
  [[1, 5, 5, 2], { ksize: [1, 3, 2, 1], strides: [1, 1, 2, 1], padding: "VALID" }],
  [[1, 2, 5, 5], {
    ksize: [1, 1, 2, 2],
    strides: [1, 1, 2, 2],
    padding: "VALID",
    data_format: "NCHW",
  }],
  [[1, 5, 5, 2], {
    ksize: pair(3),
    strides: pair(2),
    padding: "EXPLICIT",
    explicit_paddings: [0, 0, 1, 1, 1, 1, 0, 0],
  }],
];
const POOLS_3D: readonly (readonly [readonly number[], { readonly [k: string]: unknown }])[] = [
  [[1, 4, 4, 4, 1], { ksize: cube(2), strides: cube(2), padding: "VALID" }],
  [[1, 3, 5, 4, 2], { ksize: cube(3), strides: cube(2), padding: "SAME" }],
];
const pools = (list: typeof POOLS, draw: (...s: number[]) => SampleValues): OpSample[] =>
  list.map(([s, attrs]) => pool(s, attrs, draw));

/** Largest values of windows, in plain loops over the spatial axes; padding is as `VALID`. */
function maxPooled(x: NdArray, size: readonly number[], step: readonly number[]): NdArray {
  const shape = x.shape.map((d, i) => Math.floor((d - size[i]) / step[i]) + 1);
  const out = NdArray.zeros(x.dtype, shape);
  const at = (flat: number, dims: readonly number[]): number[] =>
    dims.map((_, i) => Math.floor(flat / dims.slice(i + 1).reduce((a, b) => a * b, 1)) % dims[i]);
  for (let o = 0; o < out.size; o++) {
    const start = at(o, shape).map((c, i) => c * step[i]);
    let best = -Infinity;
    for (let w = 0; w < size.reduce((a, b) => a * b, 1); w++) {
      best = Math.max(best, Number(x.get(...at(w, size).map((c, i) => c + start[i]))));
    }
    (out.data as Float32Array)[o] = best;
  }
  return out;
}

/** Values that differ, as an array: what pooling makes of them can be given as well. */
function spread(...shape: number[]): NdArray {
  const size = shape.reduce((a, b) => a * b, 1);
  return new NdArray(
    "float32",
    shape,
    Float32Array.from({ length: size }, (_, i) => ((i * 37) % 101) / 16 - 3 + i / 4096),
  );
}
const pooledGrad = (
  shape: number[],
  size: number[],
  step: number[],
  gradOf: "output" | "input",
): OpSample => {
  const x = spread(...shape), y = maxPooled(x, size, step);
  return sample([x, y, typed("float32", ...(gradOf === "output" ? y.shape : shape))], {
    ksize: size,
    strides: step,
    padding: "VALID",
  }, {
    wrt: [2],
  });
};

export const LINEAR: SampleTable = {
  MatMul: matMuls(),
  _QuantizedMatMul: [
    levelsProduct(any(2, 40), [3, 2, 4], floats([], 8), { bits: 4, block: 32, inner: 40 }),
    levelsProduct(any(3, 20), [3, 2, 4], typed("float32", 3, 2), { bits: 8, block: 16, inner: 20 }),
    levelsProduct(any(2, 1, 9), [2, 1, 2], typed("float32", 2, 1), {
      bits: 4,
      block: 16,
      inner: 9,
    }),
    levelsProduct(any(14, 70), [9, 3, 8], floats([], 128), { bits: 8, block: 32, inner: 70 }),
  ],
  _HalfMatMul: [
    sample([any(3, 7), typed("float16", 7, 5)]),
    sample([any(1, 64), typed("float16", 64, 48)]),
    sample([any(1, 33), typed("float16", 6, 33)], { adj_y: true }),
    sample([any(40, 32), typed("float16", 24, 40)], { adj_x: true, adj_y: true }),
    sample([any(2, 5, 8), typed("float16", 8, 12)]),
    sample([any(2, 0), typed("float16", 0, 3)]),
  ],
  _NormMatMul: [
    sample([any(2, 12), any(12), any(12), typed("float16", 12, 8)], { epsilon: 0.01 }),
    sample([any(1, 12), any(12), any(12), any(12, 8)], { epsilon: 0.01 }),
    sample([any(3, 7), any(7), any(7), any(5, 7)], { epsilon: 0.1, transpose_b: true }),
    sample([any(2, 1, 8), any(8), any(8), any(8, 33)], { epsilon: 0.01 }),
    sample([any(6, 8), any(8), any(8), any(8, 4)], { epsilon: 0.01 }),
  ],
  BatchMatMul: batched(),
  Einsum: [
    sample([any(2, 3), any(3, 4)], { equation: "ij,jk->ik" }, { dtypes: numbers }),
    sample([any(2, 3, 4), any(2, 5, 4)], { equation: "bij,bkj->bik" }, { dtypes: numbers }),
    sample([any(3, 3)], { equation: "ii->i" }, { dtypes: numbers }),
    sample([any(2, 3, 4)], { equation: "...j->..." }, { dtypes: numbers }),
    sample([any(3), any(4)], { equation: "i,j->ij" }, { dtypes: numbers }),
    sample([any(2, 3), any(3, 4), any(4, 2)], { equation: "ij,jk,kl->il" }),
    sample([any(2, 3), any(2, 2, 3), any(3), any(2)], { equation: "aj,...aj,j,a->..." }),
    sample([any(3, 3), any(3), any(2, 3)], { equation: "ii,i,bi->b" }),
  ],
  BatchMatMulV2: [
    ...batched(),
    sample([any(3, 4), any(2, 4, 5)]),
    sample([any(2, 1, 3, 4), any(5, 4, 2)]),
    sample([any(2, 3), any(3, 2)]),
  ],
  Conv2D: CONV,
  Conv2DBackpropInput: [
    sample([vector(1, 4, 4, 1), any(2, 2, 1, 1), any(1, 3, 3, 1)], {
      strides: pair(1),
      padding: "VALID",
    }),
    sample([vector(2, 5, 6, 3), any(3, 3, 3, 4), any(2, 5, 6, 4)], {
      strides: pair(1),
      padding: "SAME",
    }),
    sample([vector(1, 7, 7, 2), any(3, 2, 2, 5), any(1, 4, 4, 5)], {
      strides: pair(2),
      padding: "SAME",
    }),
    sample([vector(1, 9, 8, 2), any(3, 3, 2, 3), any(1, 5, 4, 3)], {
      strides: pair(1),
      padding: "VALID",
      dilations: pair(2),
    }),
  ],
  Conv2DBackpropFilter: [
    sample([any(1, 4, 4, 1), vector(2, 2, 1, 1), any(1, 3, 3, 1)], {
      strides: pair(1),
      padding: "VALID",
    }),
    sample([any(2, 5, 6, 3), vector(3, 3, 3, 4), any(2, 5, 6, 4)], {
      strides: pair(1),
      padding: "SAME",
    }),
    sample([any(1, 7, 7, 2), vector(3, 2, 2, 5), any(1, 4, 4, 5)], {
      strides: pair(2),
      padding: "SAME",
    }),
  ],
  Conv3D: [
    conv([1, 3, 4, 4, 2], [2, 2, 2, 2, 3], { strides: cube(1), padding: "VALID" }),
    conv([2, 3, 5, 4, 1], [3, 3, 3, 1, 2], { strides: cube(2), padding: "SAME" }),
  ],
  Conv3DBackpropInputV2: [
    sample([vector(1, 3, 4, 4, 2), any(2, 2, 2, 2, 3), any(1, 2, 3, 3, 3)], {
      strides: cube(1),
      padding: "VALID",
    }),
  ],
  Conv3DBackpropFilterV2: [
    sample([any(1, 3, 4, 4, 2), vector(2, 2, 2, 2, 3), any(1, 2, 3, 3, 3)], {
      strides: cube(1),
      padding: "VALID",
    }),
  ],
  DepthwiseConv2dNative: [
    conv([1, 4, 4, 2], [2, 2, 2, 1], { strides: pair(1), padding: "VALID" }),
    conv([2, 5, 6, 3], [3, 3, 3, 2], { strides: pair(1), padding: "SAME" }),
    conv([1, 7, 7, 4], [3, 3, 4, 1], { strides: pair(2), padding: "SAME" }),
    conv([1, 8, 8, 2], [3, 3, 2, 1], { strides: pair(1), padding: "SAME", dilations: pair(2) }),
  ],
  DepthwiseConv2dNativeBackpropInput: [
    sample([vector(2, 5, 6, 3), any(3, 3, 3, 2), any(2, 5, 6, 6)], {
      strides: pair(1),
      padding: "SAME",
    }),
    sample([vector(1, 7, 7, 4), any(3, 3, 4, 1), any(1, 4, 4, 4)], {
      strides: pair(2),
      padding: "SAME",
    }),
  ],
  DepthwiseConv2dNativeBackpropFilter: [
    sample([any(2, 5, 6, 3), vector(3, 3, 3, 2), any(2, 5, 6, 6)], {
      strides: pair(1),
      padding: "SAME",
    }),
    sample([any(1, 7, 7, 4), vector(3, 3, 4, 1), any(1, 4, 4, 4)], {
      strides: pair(2),
      padding: "SAME",
    }),
  ],
  MaxPool: pools(POOLS, distinct),
  AvgPool: pools(POOLS, any),
  MaxPool3D: pools(POOLS_3D, distinct),
  AvgPool3D: pools(POOLS_3D, any),
  MaxPoolWithArgmax: [
    ...pools(POOLS.slice(0, 3), distinct),
    ...pools(POOLS.slice(0, 3).map(([s, attrs]) => [s, { ...attrs, Targmax: "int32" }]), distinct),
  ],
  MaxPoolGrad: [
    pooledGrad([1, 4, 4, 1], pair(2), pair(2), "output"),
    pooledGrad([2, 5, 6, 3], pair(3), pair(2), "output"),
    pooledGrad([1, 5, 5, 2], [1, 3, 2, 1], [1, 1, 2, 1], "output"),
  ],
  MaxPoolGradGrad: [
    pooledGrad([1, 4, 4, 1], pair(2), pair(2), "input"),
    pooledGrad([2, 5, 6, 3], pair(3), pair(2), "input"),
  ],
  MaxPool3DGrad: [pooledGrad([1, 4, 4, 4, 2], cube(2), cube(2), "output")],
  MaxPool3DGradGrad: [pooledGrad([1, 4, 4, 4, 2], cube(2), cube(2), "input")],
  AvgPoolGrad: [
    sample([vector(1, 4, 4, 1), any(1, 2, 2, 1)], {
      ksize: pair(2),
      strides: pair(2),
      padding: "VALID",
    }),
    sample([vector(2, 5, 6, 3), any(2, 3, 3, 3)], {
      ksize: pair(3),
      strides: pair(2),
      padding: "SAME",
    }),
  ],
  AvgPool3DGrad: [
    sample([vector(1, 4, 4, 4, 1), any(1, 2, 2, 2, 1)], {
      ksize: cube(2),
      strides: cube(2),
      padding: "VALID",
    }),
  ],
};
