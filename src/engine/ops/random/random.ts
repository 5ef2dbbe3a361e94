/**
 * Random tensors. The numbers are a function of seed and position (Threefry), the same on every device but for rounding.
 */
import { wantBoolean, wantFunction, wantList, wantNumber } from "../../core/arguments.ts";
import { apply1, compose, currentInterpreter } from "../../core/apply.ts";
import { asDType, type DType, DTYPES, isFloating, isInRange, isInteger } from "../../core/dtype.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import { lookupOp } from "../../core/op.ts";
import { NdArray, setElement } from "../../core/nd_array.ts";
import { shapeText, sizeOf } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Distribution } from "../../core/meaning.ts";
import { expandDims, reshape } from "../array/view.ts";
import { dimsInput } from "../array/fill_ops.ts";
import { cast } from "../array/cast.ts";
import { asTensor, shapeOfInput, toFloatInput, toIndexInput, toInput } from "../input.ts";
import { add, mul } from "../pointwise/arithmetic.ts";
import { GAMMA } from "./gamma_ops.ts";
import { INDICES, INTEGERS } from "./integer_ops.ts";
import { dimsBefore, draw, REAL } from "./ops.ts";
import { type Seed, seedSource } from "./state.ts";

/** Draws in float32 (or the requested floating dtype), shifts and scales. */
function drawScaled(
  distribution: Distribution,
  shape: TensorLike,
  scale: number,
  shift: number,
  dtype: DType,
  seed: Seed | null | undefined,
): Tensor {
  const attrs = { dtype: isFloating(dtype) ? dtype : "float32" };
  let x = draw(REAL[distribution], seedSource(seed), [dimsInput(shape, "random")], attrs);
  if (scale !== 1) x = mul(x, scale);
  if (shift !== 0) x = add(x, shift);
  return x;
}

/**
 * Draws numbers uniformly from `[minval, maxval)`; integers, rounded towards zero, for integer dtypes. Throws
 * `ValueError` for ends that an integer dtype does not hold. With a seed a call outside of functions gives the same
 * numbers each time, as in TensorFlow.js. In a function, a session or a dataset the op has a sequence, as in
 * TensorFlow: it begins anew with each function, session and pass. TensorFlow op `RandomUniform`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.randomUniform([2, 3], -1, 1);
 * console.log(x.shape, tf.all(tf.less(tf.abs(x), 1.001)).item()); // [2, 3] true
 * ```
 */
export function randomUniform(
  shape: TensorLike,
  minval = 0,
  maxval = 1,
  dtype: DType | null = "float32",
  seed?: Seed | null,
): Tensor {
  const t = asDType(dtype ?? "float32");
  wantNumber(minval, "minval", "randomUniform");
  wantNumber(maxval, "maxval", "randomUniform");
  // The last number lies below the end.
  const [least, most] = [Math.trunc(minval), Math.max(minval, Math.ceil(maxval) - 1)];
  if (isInteger(t) && !(isInRange(t, least) && isInRange(t, Math.trunc(most)))) {
    throw new ValueError(
      `Cannot draw from ${minval} to ${maxval} in ${t}: wanted numbers within its range`,
    );
  }
  return compose(() => {
    const x = drawScaled("uniform", shape, maxval - minval, minval, t, seed);
    // A boolean is a byte's value: the integral part.
    return isFloating(t) ? x : cast(t === "bool" ? cast(x, "int32") : x, t);
  });
}

function randomBell(
  distribution: Distribution,
  fn: string,
  shape: TensorLike,
  mean: number,
  stdDev: number,
  dtype: DType | null,
  seed: Seed | null | undefined,
): Tensor {
  const t = asDType(dtype ?? "float32");
  if (t === "bool" || DTYPES[t].slots !== 1) {
    throw new TypeError(`Unsupported data type ${t} in ${fn}`);
  }
  wantNumber(mean, "mean", fn);
  wantNumber(stdDev, "stdDev", fn);
  return compose(() => {
    const x = drawScaled(distribution, shape, stdDev, mean, t, seed);
    return isFloating(t) ? x : cast(apply1(lookupOp("Round")!, [x]), t);
  });
}

/**
 * Numbers with a normal distribution; rounded for integer dtypes. Seeds as in {@linkcode randomUniform}.
 * Throws `TypeError` for bool. TensorFlow op `RandomStandardNormal`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.randomNormal([2, 3], 10, 0.5).shape); // [2, 3]
 * ```
 */
export function randomNormal(
  shape: TensorLike,
  mean = 0,
  stdDev = 1,
  dtype: DType | null = "float32",
  seed?: Seed | null,
): Tensor {
  return randomBell("normal", "randomNormal", shape, mean, stdDev, dtype, seed);
}

/**
 * Numbers with a normal distribution of mean 0 and standard deviation 1. See {@linkcode randomNormal}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const draw = () => tf.randomStandardNormal([2], "float32", 7);
 * console.log(tf.equal(draw(), draw()).arraySync()); // [true, true]
 * ```
 */
export function randomStandardNormal(
  shape: TensorLike,
  dtype: DType | null = "float32",
  seed?: Seed | null,
): Tensor {
  return randomBell("normal", "randomStandardNormal", shape, 0, 1, dtype, seed);
}

/**
 * Numbers with a normal distribution of which nothing lies beyond two standard deviations.
 * Throws `TypeError` for bool. TensorFlow op `TruncatedNormal`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.truncatedNormal([100], 0, 2);
 * console.log(tf.max(tf.abs(x)).item() <= 4); // true
 * ```
 */
export function truncatedNormal(
  shape: TensorLike,
  mean = 0,
  stdDev = 1,
  dtype: DType | null = "float32",
  seed?: Seed | null,
): Tensor {
  return randomBell("truncated", "truncatedNormal", shape, mean, stdDev, dtype, seed);
}

/**
 * Whole numbers evenly distributed over `[minval, maxval)`. Throws `ValueError` where the interval is empty.
 * TensorFlow op `RandomUniformInt`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.randomUniformInt([1000], 1, 7);
 * console.log(tf.min(x).item(), tf.max(x).item()); // 1 6
 * ```
 */
export function randomUniformInt(
  shape: TensorLike,
  minval: number,
  maxval: number,
  seed?: Seed | null,
): Tensor {
  const dims = dimsInput(shape, "randomUniformInt");
  return draw(INTEGERS, seedSource(seed), [
    dims,
    toIndexInput(minval, "minval", "randomUniformInt"),
    toIndexInput(maxval, "maxval", "randomUniformInt"),
  ]);
}

/**
 * Numbers with a gamma distribution of shape `alpha` and rate `beta`; rounded for int32. Drawn on the host. Of a tensor `alpha` there are
 * numbers of `shape` for each element: its extents come last. Differentiable with respect to `alpha`. Throws `TypeError` for other
 * dtypes. TensorFlow op `RandomGamma`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.min(tf.randomGamma([100], 2)).item() > 0); // true
 * ```
 */
export function randomGamma(
  shape: TensorLike,
  alpha: TensorLike,
  beta: number | null = 1,
  dtype: DType | null = "float32",
  seed?: Seed | null,
): Tensor {
  const t = asDType(dtype ?? "float32");
  if (t !== "float32" && t !== "int32" && t !== "float64") {
    throw new TypeError(`Unsupported data type ${t} in randomGamma`);
  }
  const dims = dimsInput(shape, "randomGamma");
  if (beta !== null) wantNumber(beta, "beta", "randomGamma");
  const a = toInput(alpha, "alpha", "randomGamma", { dtype: t === "int32" ? "float32" : t });
  return compose(() => {
    const source = seedSource(seed);
    const x = draw(GAMMA, source, ["key" in source ? dimsBefore(dims, a) : dims, a]);
    const scaled = (beta ?? 1) === 1 ? x : mul(x, 1 / beta!);
    return t === "int32" ? cast(apply1(lookupOp("Round")!, [scaled]), t) : scaled;
  });
}

/**
 * Draws indices with the probabilities of rows of logits (of probabilities, where `normalized`). A vector gives a
 * vector, a matrix a row for each row. int32. Throws `ValueError` for fewer than two outcomes or another rank.
 * TensorFlow op `Multinomial`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.multinomial([0, 0, 100], 4).arraySync()); // [2, 2, 2, 2]
 * ```
 */
export function multinomial(
  logits: TensorLike,
  numSamples: number,
  seed?: Seed | null,
  normalized = false,
): Tensor {
  return indices(logits, numSamples, { fn: "multinomial", seed, normalized, least: 2 });
}

/**
 * Draws indices with the probabilities of rows of logits: a vector gives a vector, a matrix a row for each row. int32. Throws `ValueError`
 * for another rank, `InvalidArgumentError` for no classes. TensorFlow op `Multinomial`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.random.categorical([[0, 100]], 3).arraySync()); // [[1, 1, 1]]
 * ```
 */
export function categorical(
  logits: TensorLike,
  numSamples: number,
  seed?: Seed | null,
  normalized = false,
): Tensor {
  return indices(logits, numSamples, { fn: "categorical", seed, normalized, least: 0 });
}

/** Draws indices by logits, whose classes may have a least number. */
function indices(
  logits: TensorLike,
  numSamples: number,
  { fn, seed, normalized, least }: {
    readonly fn: string;
    readonly seed: Seed | null | undefined;
    readonly normalized: boolean;
    readonly least: number;
  },
): Tensor {
  return compose(() => {
    let rows = asTensor(toFloatInput(logits, "logits", fn));
    const shape = shapeOfInput(rows);
    if (shape && shape.length !== 1 && shape.length !== 2) {
      throw new ValueError(`Rank of probabilities must be 1 or 2, but is ${shape.length}`);
    }
    const outcomes = shape?.at(-1) ?? least;
    if (outcomes < least) {
      throw new ValueError(
        `Error in ${fn}: you need at least ${least} outcomes, but got ${outcomes}`,
      );
    }
    if (normalized) rows = apply1(lookupOp("Log")!, [rows]);
    const vector = shape?.length === 1;
    wantNumber(numSamples, "numSamples", fn);
    wantBoolean(normalized, "normalized", fn);
    const inputs = [
      vector ? expandDims(rows, 0) : rows,
      toIndexInput(numSamples, "numSamples", fn),
    ];
    const drawn = draw(INDICES, seedSource(seed), inputs, { output_dtype: "int32" });
    return vector ? reshape(drawn, [numSamples]) : drawn;
  });
}

/**
 * Makes a tensor of a function's results, called once for each element. Follows TensorFlow.js `tf.rand`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * let n = 0;
 * console.log(tf.rand([3], () => n++).arraySync()); // [0, 1, 2]
 * ```
 */
export function rand(
  shape: readonly number[],
  randFunction: () => number,
  dtype: DType | null = "float32",
): Tensor {
  wantList(shape, "shape", "rand", "numbers");
  wantFunction(randFunction, "randFunction", "rand");
  if (shape.some((d) => !Number.isInteger(d) || d < 0)) {
    throw new ValueError(
      `Cannot make random numbers of shape ${
        shapeText(shape)
      }: dimensions must be non-negative integers`,
    );
  }
  const array = NdArray.zeros(asDType(dtype ?? "float32"), [...shape]);
  for (let i = 0, n = sizeOf(shape); i < n; i++) setElement(array, i, randFunction());
  return currentInterpreter().constant(array);
}
