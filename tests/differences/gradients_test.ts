/**
 * Gradients at special values are TensorFlow's: ties, roots and logarithms of 0, infinities, NaN. What differs is a row of
 * DIFFERENCES.md.
 */

import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { isSame, ROWS } from "./table.ts";
import tensorflow from "./tensorflow.json" with { type: "json" };

const SLOPE_ONES = [-2, -1, -0.5, -0, 0, 0.5, 1, 2, 6, Infinity, -Infinity, NaN];
const SLOPE_PAIRS = [-2, -1, -0, 0, 0.5, 1, 2];
const SLOPE_ROWS = [[1, 3, 3], [2, 2, 2], [0, 0, 5], [-1, NaN, 1], [0, 0, 0]];

type OfOne = (x: tf.Tensor) => tf.Tensor;
const positive = (f: OfOne): OfOne => (x) => tf.where(tf.greater(x, 0), f(x), 0);
const GRADIENTS_OF_ONE: Readonly<Record<string, OfOne>> = {
  ...{ abs: tf.abs, neg: tf.neg, sign: tf.sign, floor: tf.floor, exp: tf.exp, expm1: tf.expm1 },
  ...{ log: tf.log, log1p: tf.log1p, erf: tf.erf, sqrt: tf.sqrt, rsqrt: tf.rsqrt },
  ...{ reciprocal: tf.reciprocal, square: tf.square, sin: tf.sin, cos: tf.cos, tan: tf.tan },
  ...{ asin: tf.asin, acos: tf.acos, atan: tf.atan, sinh: tf.sinh, cosh: tf.cosh },
  ...{ asinh: tf.asinh, acosh: tf.acosh, atanh: tf.atanh, tanh: tf.tanh, sigmoid: tf.sigmoid },
  ...{ softplus: tf.softplus, relu: tf.relu, relu6: tf.relu6, elu: tf.elu, selu: tf.selu },
  ...{ leakyRelu: tf.leakyRelu, logSigmoid: tf.logSigmoid },
  "pow(x, 0)": (x) => tf.pow(x, 0),
  "pow(x, 1)": (x) => tf.pow(x, 1),
  "pow(x, 3)": (x) => tf.pow(x, 3),
  "pow(x, 0.5)": (x) => tf.pow(x, 0.5),
  "pow(x, -1)": (x) => tf.pow(x, -1),
  "clipByValue": (x) => tf.clipByValue(x, -1, 1),
  "maximum(x, 0)": (x) => tf.maximum(x, 0),
  "minimum(x, 1)": (x) => tf.minimum(x, 1),
  "maximum(x, x)": (x) => tf.maximum(x, x),
  "xlogy(x, x)": (x) => tf.xlogy(x, x),
  "divNoNan(1, x)": (x) => tf.divNoNan(1, x),
  "where(x > 0, sqrt(x), 0)": positive(tf.sqrt),
  "where(x > 0, rsqrt(x), 0)": positive(tf.rsqrt),
  "where(x != 0, reciprocal(x), 0)": (x) => tf.where(tf.notEqual(x, 0), tf.reciprocal(x), 0),
  "where(x > 0, log(x), 0)": positive(tf.log),
};
const GRADIENTS_OF_TWO: Readonly<Record<string, (a: tf.Tensor, b: tf.Tensor) => tf.Tensor>> = {
  ...{ maximum: tf.maximum, minimum: tf.minimum, pow: tf.pow, div: tf.div, mul: tf.mul },
  ...{ divNoNan: tf.divNoNan, mod: tf.mod, atan2: tf.atan2, xlogy: tf.xlogy, xdivy: tf.xdivy },
  squaredDifference: tf.squaredDifference,
};
const three: OfOne = (x) => tf.slice(x, [0, 0], [3, 3]);
const GRADIENTS_OF_ROWS: Readonly<Record<string, OfOne>> = {
  "max(1)": (x) => tf.max(x, 1),
  "min(1)": (x) => tf.min(x, 1),
  "max(0)": (x) => tf.max(x, 0),
  "max()": (x) => tf.max(x),
  "min() of three": (x) => tf.min(three(x)),
  "max() of three": (x) => tf.max(three(x)),
  "prod(1)": (x) => tf.prod(x, 1),
  "mean(1)": (x) => tf.mean(x, 1),
  "sum(0)": (x) => tf.sum(x, 0),
  "logSumExp(1)": (x) => tf.logSumExp(x, 1),
  "norm(1)": (x) => tf.norm(x, "euclidean", 1),
  "variance(1)": (x) => tf.moments(x, 1).variance,
  "cumprod(1)": (x) => tf.cumprod(x, 1),
  "cumsum(1)": (x) => tf.cumsum(x, 1),
  "softmax": (x) => tf.softmax(x),
};

interface Slope {
  readonly name: keyof typeof tensorflow.gradients;
  readonly f: (...xs: tf.Tensor[]) => tf.Tensor;
  readonly xs: readonly (readonly number[])[];
  readonly shape: readonly number[];
  readonly of: number;
  readonly dy: number;
}
const named = (name: string) => name as Slope["name"];
const SLOPES: readonly Slope[] = [
  ...Object.entries(GRADIENTS_OF_ONE).flatMap(([name, f]): Slope[] =>
    [1, 0].map((dy) => ({
      name: named(`${name}, dy = ${dy}`),
      f: (x) => f(x),
      xs: [SLOPE_ONES],
      shape: [SLOPE_ONES.length],
      of: 0,
      dy,
    }))
  ),
  ...Object.entries(GRADIENTS_OF_TWO).flatMap(([name, f]): Slope[] =>
    ["first", "second"].map((which, of) => ({
      name: named(`${name} of the ${which}`),
      f: (a, b) => f(a, b),
      xs: [
        SLOPE_PAIRS.flatMap((v) => SLOPE_PAIRS.map(() => v)),
        SLOPE_PAIRS.flatMap(() => SLOPE_PAIRS),
      ],
      shape: [SLOPE_PAIRS.length ** 2],
      of,
      dy: 1,
    }))
  ),
  ...Object.entries(GRADIENTS_OF_ROWS).map(([name, f]): Slope => ({
    name: named(name),
    f: (x) => f(x),
    xs: [SLOPE_ROWS.flat()],
    shape: [5, 3],
    of: 0,
    dy: 1,
  })),
];

/** Which gradients a row explains; of the sweep's rows nothing but signs of zeros, which are not looked at here. */
const EXPLAINS_SLOPE: Readonly<
  Record<string, (slope: Slope, x: number, other: number) => boolean>
> = {
  "power-gradient": ({ name }, x, exponent) =>
    (name.startsWith("pow(x, 0),") && (x === 0 || Number.isNaN(x))) ||
    (name === "pow of the first" && x === 0 && exponent === 0),
  "cumprod-gradient": ({ name }) => name === "cumprod(1)",
  "flat-gradient": ({ name }) => name.startsWith("floor"),
};

testOnDevices(
  "gradients at special values are TensorFlow's, or a row says otherwise, compiled and not",
  () => {
    const unexplained: string[] = [], met = new Set<string>();
    for (const isCompiled of [false, true]) {
      for (const slope of SLOPES) {
        const { name, f, xs, shape, of, dy } = slope;
        using _scope = tf.scope();
        const compute = (upstream: tf.Tensor, ...tensors: tf.Tensor[]): tf.Tensor => {
          using tape = new tf.GradientTape();
          for (const t of tensors) tape.watch(t);
          const y = f(...tensors);
          const outputGradients = tf.mul(tf.onesLike(y), upstream);
          return tape.gradient(y, tensors[of], { outputGradients })!;
        };
        const called = isCompiled ? tf.function(compute) : compute;
        const given = [tf.scalar(dy), ...xs.map((x) => tf.tensor(x, shape))] as const;
        const dx = called(...given).dataSync() as Float32Array;
        const wanted = tensorflow.gradients[name].split(" ").map(Number);
        dx.forEach((got, i) => {
          // Of what TensorFlow says nothing about there is one word for all.
          const want = wanted[Math.min(i, wanted.length - 1)];
          const isNone = tensorflow.gradients[name] === "none";
          if (!isNone && (isSame(want, got, 2e-5) || Math.abs(want - got) < 1e-6)) return;
          const row = ROWS.find(({ name }) =>
            EXPLAINS_SLOPE[name]?.(slope, xs[of][i], xs[1]?.[i] ?? 0)
          );
          if (row) met.add(row.name);
          else unexplained.push(`${name} at ${xs.map((x) => x[i])}: ${got}, not ${want}`);
        });
      }
    }
    assertEquals(unexplained, []);
    assertEquals([...met].sort(), Object.keys(EXPLAINS_SLOPE).sort());
  },
);
