/** Pointwise kernels of one argument, each with random cases and what they should give. */

import type { NdArray } from "../../../src/engine/core/nd_array.ts";
import type { Case, Kernel } from "./oracle_cases.ts";
import type { Dice } from "./oracle_random.ts";

const floats = (x: NdArray): Float32Array => x.data as Float32Array;

/** A function, how far its arguments go, and how large an error may be: relative to the result, or absolute. */
type Unary = readonly [f: (x: number) => number, reach: number, error?: "exact" | "absolute"];

/** Ties go to the even number. */
function roundEven(x: number): number {
  const low = Math.floor(x), rest = x - low;
  return rest < 0.5 || (rest === 0.5 && low % 2 === 0) ? low : low + 1;
}

const UNARY: Readonly<Record<string, Unary>> = {
  Neg: [(x) => -x, 100, "exact"],
  Abs: [Math.abs, 100, "exact"],
  Square: [(x) => x * x, 100],
  Sqrt: [Math.sqrt, 100],
  Rsqrt: [(x) => 1 / Math.sqrt(x), 100],
  Reciprocal: [(x) => 1 / x, 100],
  Floor: [Math.floor, 100, "exact"],
  Ceil: [Math.ceil, 100, "exact"],
  Round: [roundEven, 100, "exact"],
  // Of NaN it is 0, as in TensorFlow.js.
  Sign: [(x) => (x !== x ? x : Number(x > 0) - Number(x < 0)), 100, "exact"],
  Relu: [(x) => (x < 0 ? 0 : x), 100, "exact"],
  Relu6: [(x) => (x < 0 ? 0 : x > 6 ? 6 : x), 20, "exact"],
  Elu: [(x) => (x < 0 ? Math.expm1(x) : x), 20],
  LeakyRelu: [(x) => (x < 0 ? 0.2 * x : x), 20],
  Exp: [Math.exp, 160],
  Expm1: [Math.expm1, 160],
  Log: [Math.log, 100],
  Log1p: [Math.log1p, 100],
  Tanh: [Math.tanh, 20],
  Sigmoid: [(x) => 1 / (1 + Math.exp(-x)), 60],
  Softplus: [(x) => (x > 0 ? x + Math.log1p(Math.exp(-x)) : Math.log1p(Math.exp(x))), 60],
  Softsign: [(x) => (Math.abs(x) === Infinity ? NaN : x / (1 + Math.abs(x))), 60],
  Sin: [Math.sin, 100, "absolute"],
  Cos: [Math.cos, 100, "absolute"],
  Sinh: [Math.sinh, 40],
  Cosh: [Math.cosh, 40],
  Atan: [Math.atan, 100],
};

/** Rounded as float32 rounds: what is too large is infinite. */
const rounded = (v: number): number => (Number.isFinite(Math.fround(v)) ? v : Math.fround(v));

function unary([f, reach, error]: Unary) {
  return (dice: Dice): Case => {
    const rank = dice.between(0, 3);
    const x = dice.floats(dice.shape(rank, rank === 1 ? 60 : 8), 2 * reach);
    const values = Float64Array.from(floats(x), (v) => rounded(f(v)));
    if (error === "exact") return { inputs: [x], outputs: [{ values }] };
    const scale = values.map((v) => (error === "absolute" ? 1 : Math.abs(v)) + 2 ** -125);
    return { inputs: [x], outputs: [{ values, scale }] };
  };
}

/** Functions of one number. */
export const UNARY_KERNELS: readonly Kernel[] = Object.entries(UNARY).map(
  ([name, of]): Kernel => [name, unary(of)],
);
