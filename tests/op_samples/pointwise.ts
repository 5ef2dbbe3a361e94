/** Samples of the ops that work element by element. */

import {
  above1,
  any,
  binary,
  bools,
  distinct,
  floats,
  inside,
  ints,
  number,
  positive,
  sample,
  type SampleTable,
  typed,
  unary,
} from "./inputs.ts";

/** Special floats; gradients there are not compared. */
const special = floats([8], NaN, Infinity, -Infinity, 0, -0, 1, -1, 1e-30);
const other = floats([8], 1, NaN, Infinity, -0, 0, -Infinity, NaN, -1);
const SPECIAL = { gradient: false, secondOrder: false } as const;
const one = [sample([special], {}, SPECIAL)];
const two = [sample([special, other], {}, SPECIAL)];
/** Integer division and powers differ from those of floats by design. */
const OWN_INTEGERS = { integersFollowFloats: false } as const;
/** Steps and rounding have no useful second derivative, and float64 differences land on the same step. */
const NUMBERS = [
  "float32",
  "int32",
  "bool",
  "float64",
  "float16",
  "bfloat16",
  "int64",
  "uint8",
  "uint32",
  "complex64",
] as const;
const FLOATS_ONLY = ["float32", "float64", "float16", "bfloat16"] as const;

/** For divisors that fractions keep away from zero: whole numbers would be divided by it. */
const NO_INTEGERS = { dtypes: [...FLOATS_ONLY, "complex64"] } as const;

/** Away from zero, on both sides. */
const nonzero = (...shape: number[]) => ({
  shape,
  low: -2,
  high: 2,
  values: [0.5, -1.25, 2, -0.75, 1.5],
});
/** Between 0 and 1. */
const share = (...shape: number[]) => ({ shape, low: 0.05, high: 0.95 });
const WRT_SECOND = { wrt: [1], dtypes: ["float32", "float64"] } as const;
const wholes = (...shape: number[]) => ({ shape, low: -9, high: 9, whole: true });
/** Whole numbers for integers, others for floats: remainders jump at whole ones. */
const broken = (...shape: number[]) => ({ shape, low: -9, high: 9 });
/** Equal to no value of `distinct`. */
const apart = (...shape: number[]) => ({ shape, low: -2.93, high: 3.07, distinct: true });
const divisors = (...shape: number[]) => ({ shape, values: [1, 2, 3, 5] });
const shifts = (...shape: number[]) => ({ shape, values: [0, 1, 3, 2, 5] });
const magnitudes = (...shape: number[]) => ({ shape, low: 0, high: 40 });

export const POINTWISE: SampleTable = {
  AddV2: [...binary(), ...two],
  Add: binary().slice(0, 3),
  Sub: [...binary(), ...two],
  Mul: [...binary(), ...two],
  RealDiv: [
    ...binary(any, nonzero, NO_INTEGERS),
    sample([special, other], {}, { ...SPECIAL, dtypes: FLOATS_ONLY }),
  ],
  Div: binary(wholes, divisors, OWN_INTEGERS).slice(0, 4),
  DivNoNan: [
    ...binary(any, nonzero),
    sample([any(4), floats([4], 0, 1, 0, 2)], {}, { dtypes: ["float32"], gradient: false }),
  ],
  FloorDiv: binary(broken, divisors),
  FloorMod: binary(broken, divisors),
  TruncateDiv: binary(wholes, divisors, OWN_INTEGERS),
  TruncateMod: binary(broken, divisors),
  AddN: [
    sample([any(2, 3)]),
    sample([any(2, 3), any(2, 3), any(2, 3)]),
    sample([any(), any()]),
    sample([any(0), any(0)]),
  ],
  Neg: [...unary(), ...one],
  Conj: unary(),
  Maximum: [...binary(distinct, apart), ...two],
  Minimum: [...binary(distinct, apart), ...two],
  ClipByValue: [
    sample([distinct(3, 4), floats([], -1), floats([], 1)], {}, { dtypes: ["float32"] }),
    sample([distinct(5), { shape: [5], values: [-1] }, { shape: [5], values: [1] }]),
    sample([special, floats([], -1), floats([], 1)], {}, SPECIAL),
  ],
  Abs: [...unary(nonzero), ...one],
  Sign: [...unary(nonzero), ...one],
  Floor: [...unary(), ...one],
  Ceil: [...unary(), ...one],
  Round: [...unary(), sample([floats([6], 0.5, 1.5, 2.5, -0.5, -1.5, 1e9)], {}, SPECIAL), ...one],
  Rint: [...unary(), sample([floats([6], 0.5, 1.5, 2.5, -0.5, -1.5, 1e9)], {}, SPECIAL)],
  Step: [
    ...unary(nonzero, { attrs: { alpha: 0 } }),
    sample([nonzero(5)], { alpha: 0.5 }, { dtypes: FLOATS_ONLY }),
  ],
  Square: unary(),
  // TensorFlow's gradient is that of |x - y|^2 where the incoming gradient is real.
  SquaredDifference: binary(any, any, { gradientDTypes: ["float32"] }),
  Sqrt: [...unary(positive), ...one],
  Rsqrt: [...unary(positive), ...one],
  Reciprocal: [
    ...unary(nonzero, NO_INTEGERS),
    sample([divisors(7)], {}, { ...OWN_INTEGERS, dtypes: ["int32", "int64"] }),
    ...one,
  ],
  Inv: unary(nonzero, NO_INTEGERS).slice(0, 3),
  SqrtGrad: binary(positive, any).slice(0, 2),
  RsqrtGrad: [sample([positive(2, 3), any(2, 3)])],
  ReciprocalGrad: [sample([nonzero(2, 3), any(2, 3)])],
  InvGrad: [sample([nonzero(2, 3), any(2, 3)])],
  Pow: [
    ...binary(positive, any, {
      ...OWN_INTEGERS,
      dtypes: ["float32", "float64", "float16", "complex64"],
    }),
    sample(
      [{ shape: [6], values: [2, 3, -2, -1, 5, 0] }, { shape: [6], values: [3, 0, 2, 5, 1, 2] }],
      {},
      {
        ...OWN_INTEGERS,
        gradient: false,
      },
    ),
    sample([special, other], {}, SPECIAL),
  ],
  Exp: [...unary(), ...one],
  Expm1: [...unary(), sample([floats([3], 1e-6, -1e-7, 1e-3)]), ...one],
  Log: [...unary(positive), ...one],
  Log1p: [...unary(positive), sample([floats([3], 1e-6, -1e-7, 1e-3)]), ...one],
  Erf: [...unary(), sample([floats([5], 0, 1e-5, 3, -4, 6)], {}, { gpuUlps: 1024 }), ...one],
  ErfGrad: [sample([any(2, 3), any(2, 3)])],
  Lgamma: [
    ...unary(positive, { gpuAbsolute: 2e-6 }),
    sample([floats([6], -3.5, -1.5, -0.3, 7.3, 50, 1e4)], {}, { gpuUlps: 1024, gradient: false }),
    ...one,
  ],
  Digamma: [
    ...unary(positive, { gpuAbsolute: 4e-6 }),
    sample([floats([6], -3.5, -1.5, -0.3, 7.3, 50, 1e4)], {}, {
      gpuUlps: 1024,
      gpuAbsolute: 1e-5,
      gradient: false,
    }),
    ...one,
  ],
  Erfinv: [
    ...unary(inside, { gpuUlps: 256 }),
    sample([floats([8], -1, 1, 0, 1.5, -1.5, 0.999999, 1e-20, NaN)], {}, {
      ...SPECIAL,
      gpuUlps: 256,
    }),
  ],
  Ndtri: [
    ...unary(share, { gpuUlps: 256, gpuAbsolute: 1e-6 }),
    sample([floats([8], 0, 1, 0.5, 1.5, -0.5, 1e-30, 0.999999, NaN)], {}, {
      ...SPECIAL,
      gpuUlps: 256,
    }),
  ],
  Polygamma: [
    sample([{ shape: [3, 1], values: [0, 1, 2] }, positive(4)], {}, WRT_SECOND),
    sample([floats([5], 1, -1, 1.5, 0, 1), floats([5], -0.5, 1, 1, -1, 0)], {}, SPECIAL),
  ],
  ...Object.fromEntries(
    ["I0", "I0e", "I1", "I1e", "J0", "J1"].map((name) => [`Bessel${name}`, unary(any)]),
  ),
  ...Object.fromEntries(
    ["K0", "K0e", "K1", "K1e", "Y0", "Y1"].map((
      name,
    ) => [`Bessel${name}`, unary(positive)]),
  ),
  Dawsn: unary(any),
  Expint: unary(positive),
  FresnelCos: unary(any),
  FresnelSin: unary(any),
  Spence: unary(positive),
  CumulativeLogsumexp: [
    sample([any(3, 5), number(1)]),
    sample([any(4, 2, 3), number(0)], { reverse: true }),
    sample([any(5), number(-1)], { exclusive: true }, { gradient: false }),
  ],
  Zeta: [
    sample([above1(3, 1), positive(4)], {}, WRT_SECOND),
    sample(
      [floats([6], 1, 0.5, 2, 2, 2.5, 30), floats([6], 2, 1, -1, -0.5, -0.5, 0.1)],
      {},
      SPECIAL,
    ),
  ],
  Xlog1py: [
    ...binary(positive),
    sample([floats([4], 0, 0, 1, 2), floats([4], -1, 2, 3, -1)], {}, SPECIAL),
  ],
  Xlogy: [...binary(positive), sample([floats([3], 0, 0, 1), floats([3], 0, 2, 3)], {}, SPECIAL)],
  Xdivy: [...binary(nonzero), sample([floats([3], 0, 0, 1), floats([3], 0, 2, 3)], {}, SPECIAL)],
  Sin: [
    ...unary(any, { gpuAbsolute: 1e-6 }),
    sample([floats([3], 100, -1000, 3.14159)], {}, { gpuAbsolute: 1e-3, gradient: false }),
  ],
  Cos: [
    ...unary(any, { gpuAbsolute: 1e-6 }),
    sample([floats([3], 100, -1000, 1.5708)], {}, { gpuAbsolute: 1e-3, gradient: false }),
  ],
  Tan: unary(inside, { gpuAbsolute: 1e-6 }),
  Asin: unary(inside, { gpuUlps: 1024 }),
  Acos: unary(inside, { gpuUlps: 1024 }),
  Atan: [...unary(any, { gpuUlps: 1024 }), ...one],
  Sinh: [...unary(), sample([floats([3], 1e-6, -1e-4, 20)])],
  Cosh: unary(),
  Tanh: [...unary(), sample([floats([4], 1e-6, -1e-4, 20, -90)]), ...one],
  Asinh: [
    ...unary(any, { gpuUlps: 1024 }),
    sample([floats([4], 1e-6, -1e-4, 20, -90)], {}, { gpuUlps: 1024 }),
  ],
  Acosh: unary(above1, { gpuUlps: 1024 }),
  Atanh: [
    ...unary(inside, { gpuUlps: 1024 }),
    sample([floats([3], 1e-6, -1e-4, 0.99)], {}, { gpuUlps: 2048 }),
  ],
  Atan2: [
    ...binary(nonzero, any, { gpuUlps: 1024 }),
    sample([floats([6], 0, -0, 1, -1, 0, -0), floats([6], -1, -1, 0, 0, 1, 1)], {}, SPECIAL),
  ],
  TanhGrad: [sample([inside(2, 3), any(2, 3)])],
  Sigmoid: [...unary(), sample([floats([4], 90, -90, 20, -20)]), ...one],
  SigmoidGrad: [sample([positive(2, 3), any(2, 3)])],
  Softplus: [...unary(), sample([floats([4], 90, -90, 20, -20)])],
  SoftplusGrad: [sample([any(2, 3), any(2, 3)])],
  LogSigmoid: [...unary(), sample([floats([4], 90, -90, 20, -20)])],
  Softsign: [...unary(), ...one],
  SoftsignGrad: [sample([any(2, 3), any(2, 3)])],
  Gelu: [
    ...unary(any, { gpuUlps: 2048 }),
    sample([any(2, 3)], { approximate: true }, { gpuUlps: 2048 }),
  ],
  GeluGrad: [
    sample([any(2, 3), any(2, 3)], {}, { gpuUlps: 2048 }),
    sample([any(2, 3), any(2, 3)], { approximate: true }, { gpuUlps: 2048 }),
  ],
  Relu: [...unary(nonzero), ...one],
  Relu6: [...unary((...shape) => ({ shape, values: [-1, 0.5, 3, 7, 5.5] })), ...one],
  LeakyRelu: [...unary(nonzero), sample([nonzero(5)], { alpha: 0.5 }), ...one],
  Elu: [...unary(nonzero), ...one],
  Selu: [...unary(nonzero), ...one],
  Prelu: [...binary(nonzero, positive), sample([nonzero(2, 3), positive(2, 3)])],
  ReluGrad: [sample([any(2, 3), nonzero(2, 3)], {}, { secondOrder: false })],
  Relu6Grad: [
    sample([any(2, 5), { shape: [2, 5], values: [-1, 0.5, 3, 7, 5.5] }], {}, {
      secondOrder: false,
    }),
  ],
  LeakyReluGrad: [
    sample([any(2, 3), nonzero(2, 3)], { alpha: 0.25 }, { ...OWN_INTEGERS, secondOrder: false }),
  ],
  EluGrad: [
    sample([any(2, 3), { shape: [2, 3], values: [0.5, -0.25, 2, -0.75, 1.5] }], {}, OWN_INTEGERS),
  ],
  SeluGrad: [
    sample([any(2, 3), { shape: [2, 3], values: [0.5, -0.25, 2, -0.75, 1.5] }], {}, OWN_INTEGERS),
  ],
  Cast: [
    sample([any(2, 3)], { DstT: "int32" }, { ...OWN_INTEGERS, dtypes: NUMBERS }),
    sample([any(7)], { DstT: "bool" }, { ...OWN_INTEGERS, dtypes: NUMBERS }),
    sample([{ shape: [7], low: -9, high: 9 }], { DstT: "float32" }, {
      dtypes: ["float64", "int32", "bool", "uint8", "int64", "float16", "bfloat16"],
    }),
    sample([{ shape: [4], values: [1.75, -1.75, 0, 200.5] }], { DstT: "uint8" }, {
      dtypes: ["int32"],
      ...OWN_INTEGERS,
    }),
    sample([any(2, 3)], { DstT: "complex64" }, { dtypes: ["float32"] }),
    sample([any(0)], { DstT: "int32" }, { dtypes: ["float32"] }),
  ],
  Equal: [...binary(wholes), ...two],
  NotEqual: [...binary(wholes), ...two],
  Less: [...binary(wholes), ...two],
  LessEqual: [...binary(wholes), ...two],
  Greater: [...binary(wholes), ...two],
  GreaterEqual: [...binary(wholes), ...two],
  IsNan: [...unary(), ...one],
  IsInf: [...unary(), ...one],
  IsFinite: [...unary(), ...one],
  LogicalAnd: binary(bools),
  LogicalOr: binary(bools),
  LogicalNot: unary(bools),
  BitwiseAnd: binary(magnitudes),
  BitwiseOr: binary(magnitudes),
  BitwiseXor: binary(magnitudes),
  Invert: unary(magnitudes),
  LeftShift: binary(magnitudes, shifts),
  RightShift: binary(magnitudes, shifts),
  SelectV2: [
    sample([bools(2, 3), any(2, 3), any(2, 3)]),
    sample([bools(3), any(2, 3), any()]),
    sample([bools(2, 1), any(3), any(2, 3)]),
    sample([bools(0), any(0), any(0)]),
    sample([bools(8), special, other], {}, SPECIAL),
  ],
  Select: [
    sample([bools(2, 3), any(2, 3), any(2, 3)]),
    sample([bools(2), any(2, 3), any(2, 3)]),
    sample([bools(), any(2, 3), any(2, 3)]),
  ],
  Complex: [sample([any(2, 3), any(2, 3)]), sample([any(3), any(2, 1)]), sample([any(), any()])],
  Real: unary((...shape) => typed("complex64", ...shape)),
  Imag: unary((...shape) => typed("complex64", ...shape)),
  ComplexAbs: unary((...shape) => typed("complex64", ...shape)),
};
void ints;
