/** Samples of fused products and convolutions, of dilation and of linear algebra. */

import { NdArray } from "@weft/weft";
import type { OpSample, SampleValues } from "@weft/weft/testing";
import { any, distinct, number, sample, type SampleTable, solid, vector } from "./inputs.ts";

const FUSED = [[], ["BiasAdd"], ["BiasAdd", "Relu"], ["Elu"], ["BiasAdd", "Relu6"], ["LeakyRelu"], [
  "BiasAdd",
  "Sigmoid",
], ["Tanh"]];

/** One sample for each list of steps; `make` gives the operands, `bias` the shape of what BiasAdd takes. */
function fused(
  operands: readonly SampleValues[],
  bias: readonly number[],
  attrs: OpSample["attrs"],
  steps: readonly string[][] = FUSED,
): OpSample[] {
  return steps.map((fused_ops) => {
    const extra = [
      ...(fused_ops.includes("BiasAdd") ? [distinct(...bias)] : []),
      ...(fused_ops.includes("Prelu") ? [distinct(...bias)] : []),
    ];
    return sample([...operands, ...extra], { ...attrs, fused_ops, num_args: extra.length });
  });
}

const NO_GRADIENT = {
  "gradient on the gpu": "not implemented for all vectors of tall matrices, as in TensorFlow",
};
const pair = (s: number): number[] => [1, s, s, 1];

const WINNERS = {
  wrt: [2],
  skip: { "graph gradient = tape gradient": "wants a filter of known shape" },
};

/** Image, filter, result, attributes. */
const DILATIONS: readonly [number[], number[], number[], Record<string, unknown>][] = [
  [[1, 4, 4, 4], [2, 2, 4], [1, 4, 4, 4], { strides: pair(1), rates: pair(1), padding: "SAME" }],
  [[2, 5, 6, 3], [2, 3, 3], [2, 2, 2, 3], { strides: pair(2), rates: pair(1), padding: "VALID" }],
  [[1, 7, 6, 4], [3, 2, 4], [1, 3, 4, 4], { strides: pair(1), rates: pair(2), padding: "VALID" }],
];

const pairOfSolid: SampleValues = {
  shape: [2, 2, 2],
  values: [3, 0.5, 1, 2, -1, 2, 0.5, 1.5],
};
/** Diagonals of a matrix that needs no exchange of rows. */
const THREE: SampleValues = { shape: [3, 3], values: [1, -0.5, 9, 3, 2.5, -3, 9, 0.5, 1] };
const tall: SampleValues = { shape: [4, 2], values: [2, 0.5, -1, 1.5, 0.5, 1, 1, -2] };
const wide: SampleValues = { shape: [2, 4], values: [2, -1, 0.5, 1, 0.5, 1.5, 1, -2] };
const L2 = new NdArray("float64", [], Float64Array.of(0.5));
const SIZED = {
  skip: {
    "graph gradient = tape gradient": "needs to know whether there are more rows than columns",
  },
};
const NONE = new NdArray("float64", [], Float64Array.of(0));

/** By TensorFlow op name. */
/** Gradients of what depends on the phase of a vector are not those of differences: tests/ops/linalg/decompositions_test.ts has others. */
const PHASES = { gradient: false, dtypes: ["float32"] } as const;

export const LINALG: SampleTable = {
  Eig: [
    sample([distinct(3, 3)], { Tout: "complex64" }, PHASES),
    sample([distinct(2, 3, 3)], { Tout: "complex64", compute_v: false }, PHASES),
  ],
  _EigLeft: [sample([distinct(3, 3)], { Tout: "complex64" }, PHASES)],
  _MatrixExponential: [sample([any(3, 3)]), sample([any(2, 2, 2)]), sample([any(0, 2, 2)])],
  _FusedMatMul: [
    ...fused([any(3, 4), any(4, 8)], [8], {}),
    ...fused([any(5, 3), any(7, 5)], [7], { transpose_a: true, transpose_b: true }, [[
      "BiasAdd",
      "Prelu",
    ], ["Prelu"]]),
    ...fused([any(9, 4), any(4, 5)], [1], {}, [["BiasAdd", "Relu"]]),
    ...fused([any(2, 3), any(3, 4)], [2, 4], {}, [["BiasAdd"]]),
  ],
  _FusedConv2D: [
    ...fused(
      [any(1, 4, 5, 4), any(3, 3, 4, 4)],
      [4],
      { strides: pair(1), padding: "SAME" },
      FUSED.slice(0, 4),
    ),
    ...fused([any(1, 5, 5, 3), any(2, 2, 3, 5)], [5], { strides: pair(2), padding: "VALID" }, [[
      "BiasAdd",
      "Prelu",
    ]]),
    ...fused([any(2, 3, 3, 4), any(1, 1, 4, 8)], [8], { strides: pair(1), padding: "VALID" }, [[
      "BiasAdd",
      "Sigmoid",
    ]]),
  ],
  _FusedDepthwiseConv2dNative: [
    ...fused(
      [any(1, 4, 5, 4), any(3, 3, 4, 1)],
      [4],
      { strides: pair(1), padding: "SAME" },
      FUSED.slice(0, 4),
    ),
    ...fused([any(1, 5, 5, 3), any(2, 2, 3, 2)], [6], { strides: pair(2), padding: "VALID" }, [[
      "BiasAdd",
      "Prelu",
    ]]),
  ],
  Dilation2D: DILATIONS.map(([x, filter, , attrs], i) =>
    sample([distinct(...x), distinct(...filter)], attrs, { secondOrder: false, gradient: i < 2 })
  ),
  Dilation2DBackpropInput: DILATIONS.map(([x, filter, y, attrs]) =>
    sample([distinct(...x), distinct(...filter), any(...y)], attrs, WINNERS)
  ),
  Dilation2DBackpropFilter: DILATIONS.map(([x, filter, y, attrs]) =>
    sample([distinct(...x), distinct(...filter), any(...y)], attrs, WINNERS)
  ),
  MatrixBandPart: [
    sample([any(3, 4), number(1), number(0)]),
    sample([any(2, 5, 3), number(-1), number(1)]),
    sample([any(4, 4), number(0), number(-1)]),
    sample([any(0, 3), number(0), number(0)]),
  ],
  MatrixTriangularSolve: [
    sample([solid, any(3, 2)]),
    sample([solid, any(3, 1)], { lower: false }),
    sample([solid, any(3, 4)], { adjoint: true }),
    sample([solid, any(3, 4)], { lower: false, adjoint: true }),
    sample([pairOfSolid, any(2, 2)]),
    sample([solid, any(2, 3, 2)], { lower: false }),
  ],
  Cross: [sample([any(3), any(3)]), sample([any(2, 4, 3), any(2, 4, 3)])],
  MatrixDiagPartV3: [
    sample([any(2, 3, 4), number(0), any()], {}, { wrt: [0] }),
    sample([any(3, 4), vector(-1, 2), any()], {}, { wrt: [0] }),
    sample([any(4, 2), vector(-3, 0), any()], { align: "LEFT_RIGHT" }, { wrt: [0] }),
    sample([any(3, 3), vector(1, 2), any()], { align: "LEFT_LEFT" }, { wrt: [0] }),
    sample([any(3, 3), vector(-2, -1), any()], { align: "RIGHT_RIGHT" }, { wrt: [0] }),
  ],
  MatrixDiagV3: [
    sample([any(2, 3), number(0), number(-1), number(-1), any()], {}, { wrt: [0] }),
    sample([any(3), number(-1), number(4), number(5), any()], {}, { wrt: [0] }),
    sample([any(2, 3), number(-2), number(-1), number(-1), any()], {}, { wrt: [0] }),
    sample([any(2, 3), number(1), number(-1), number(-1), any()], {}, { wrt: [0] }),
    sample([any(3), number(1), number(-1), number(4), any()], {}, { wrt: [0] }),
    sample([any(3), number(-1), number(4), number(-1), any()], {}, { wrt: [0] }),
    sample([any(4, 3), vector(-1, 2), number(3), number(4), any()], {}, { wrt: [0] }),
  ],
  MatrixSetDiagV3: [
    sample([any(2, 3, 4), any(2, 3), number(0)]),
    sample([any(3, 4), any(4, 3), vector(-1, 2)], { align: "LEFT_RIGHT" }),
  ],
  MatrixInverse: [sample([solid]), sample([solid], { adjoint: true }), sample([pairOfSolid])],
  MatrixDeterminant: [sample([solid]), sample([pairOfSolid]), sample([any(2, 0, 0)])],
  LogMatrixDeterminant: [sample([solid]), sample([pairOfSolid])],
  Cholesky: [
    sample([{ shape: [3, 3], values: [4, 9, 9, 2, 5, 9, -1, 0.5, 3] }], {}, {
      gradient: false,
      skip: { "gradient on the gpu": "of symmetric matrices: tests/ops/linalg/solve_test.ts" },
    }),
  ],
  MatrixSolve: [
    sample([solid, any(3, 2)]),
    sample([solid, any(3, 1)], { adjoint: true }),
  ],
  TridiagonalSolve: [
    sample([any(3, 4), any(4, 2)]),
    sample([any(2, 3, 3), any(2, 3, 1)]),
    sample([THREE, any(3, 2)], { partial_pivoting: false }),
    sample([any(3, 1), any(1, 2)]),
  ],
  TridiagonalMatMul: [
    sample([any(1, 4), any(1, 4), any(1, 4), any(4, 2)]),
    sample([any(2, 1, 3), any(2, 1, 3), any(2, 1, 3), any(2, 3, 1)]),
    sample([any(1, 1), any(1, 1), any(1, 1), any(1, 2)]),
  ],
  MatrixSolveLs: [
    sample([tall, any(4, 2), L2], {}, SIZED),
    sample([tall, any(4, 1), L2], { fast: false }, SIZED),
    sample([wide, any(2, 2), L2], {}, SIZED),
    sample([wide, any(2, 2), NONE], { fast: false }, SIZED),
  ],
  Qr: [
    sample([solid]),
    sample([any(4, 3)]),
    sample([any(2, 3, 2)]),
    sample([any(3, 5)], {}, {
      skip: { "graph gradient = tape gradient": "wants known extents, as in TensorFlow" },
    }),
    sample([any(4, 2)], { full_matrices: true }, { gradient: false, skip: NO_GRADIENT }),
  ],
};
