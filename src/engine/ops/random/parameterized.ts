/** Draws from distributions with parameters, in the namespace `tf.random`. Those with seeds draw TensorFlow's numbers. */
import { apply1, compose, type OpInput } from "../../core/apply.ts";
import { asDType, type DType, isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { shapeText } from "../../core/shape.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { dimsInput } from "../array/fill_ops.ts";
import { asTensor, castInput, shapeOfInput, toDenseInput, toIndexInput } from "../input.ts";
import { add, mul } from "../pointwise/arithmetic.ts";
import {
  RandomIndexShuffle,
  RandomPoisson,
  StatelessBinomial,
  StatelessPoisson,
  StatelessTruncatedBetween,
} from "./distributions.ts";
import { dimsBefore } from "./ops.ts";
import { seedInput } from "./shuffle.ts";
import { type Seed, seedSource } from "./state.ts";

/** Returns a dtype that whole numbers and floats are drawn in. Throws `TypeError` for others. */
function drawnDType(dtype: DType, fn: string): DType {
  const to = asDType(dtype);
  if (["float16", "float32", "float64", "int32", "int64"].includes(to)) return to;
  throw new TypeError(
    `Cannot draw ${to} by ${fn}: wanted float16, float32, float64, int32 or int64`,
  );
}

/** Converts a parameter; JavaScript's numbers are float32. */
function parameter(x: TensorLike, arg: string, fn: string): OpInput {
  const given = x instanceof NdArray || typeof x === "object" && x !== null && "dtype" in x
    ? toDenseInput(x, arg, fn)
    : toDenseInput(x, arg, fn, { dtype: "float32" });
  if (["float16", "float32", "float64", "int32", "int64"].includes(given.dtype)) return given;
  throw new TypeError(`Cannot use ${given.dtype} as ${arg} of ${fn}: wanted real numbers`);
}

/** Converts parameters to one dtype, that of the first tensor among them. */
function parameters(all: readonly [name: string, x: TensorLike][], fn: string): OpInput[] {
  const given = all.map(([name, x]) => parameter(x, name, fn));
  const typed = all.findIndex(([, x]) => typeof x === "object" && x !== null && "dtype" in x);
  const { dtype } = given[Math.max(0, typed)];
  return given.map((x) => castInput(x, dtype));
}

/**
 * Numbers with the Poisson distributions of the rates `lam`: of shape `[...shape, ...shape of lam]`. Throws `TypeError` for dtypes that are
 * neither floats nor int32 and int64. TensorFlow op `RandomPoissonV2`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.random.poisson([2000], [4, 9]);
 * console.log(x.shape, (await tf.mean(x, 0).data()).map((v) => Math.round(Number(v)))); // [2000, 2] Float32Array(2) [4, 9]
 * ```
 */
export function poisson(
  shape: TensorLike,
  lam: TensorLike,
  dtype: DType = "float32",
  seed?: Seed | null,
): Tensor {
  const fn = "random.poisson", to = drawnDType(dtype, fn), rate = parameter(lam, "lam", fn);
  const front = dimsInput(shape, fn), source = seedSource(seed);
  if ("attrs" in source) {
    return apply1(RandomPoisson, [front, rate], { dtype: to, ...source.attrs });
  }
  return compose(() => {
    return apply1(StatelessPoisson, [dimsBefore(front, rate), source.key, rate], { dtype: to });
  });
}

/**
 * Numbers with the Poisson distributions of the rates `lam`, whose shape is the end of `shape`: always the same for the same seed, two whole
 * numbers, and TensorFlow's. Throws `TypeError` for other dtypes than floats, int32 and int64, `ValueError` for shapes that do not fit.
 * TensorFlow op `StatelessRandomPoisson`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.random.statelessPoisson([3, 2], [1, 2], [3, 20]).array()); // [[5, 25], [5, 16], [4, 24]]
 * ```
 */
export function statelessPoisson(
  shape: TensorLike,
  seed: TensorLike,
  lam: TensorLike,
  dtype: DType = "int32",
): Tensor {
  const fn = "random.statelessPoisson", to = drawnDType(dtype, fn), own = seedInput(seed, fn);
  const inputs = [dimsInput(shape, fn), own, parameter(lam, "lam", fn)];
  return apply1(StatelessPoisson, inputs, { dtype: to });
}

/**
 * Numbers of successes in `counts` trials, each with a probability of `probs`; these broadcast to the end of `shape`. Always the same for the
 * same seed, two whole numbers, and TensorFlow's. Throws as {@linkcode statelessPoisson}. TensorFlow op `StatelessRandomBinomial`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.random.statelessBinomial([5], [1, 2], 10, 0.3).array()); // [5, 5, 5, 4, 4]
 * ```
 */
export function statelessBinomial(
  shape: TensorLike,
  seed: TensorLike,
  counts: TensorLike,
  probs: TensorLike,
  dtype: DType = "int32",
): Tensor {
  const fn = "random.statelessBinomial", to = drawnDType(dtype, fn), own = seedInput(seed, fn);
  const [p, n] = parameters([["probs", probs], ["counts", counts]], fn);
  return apply1(StatelessBinomial, [dimsInput(shape, fn), own, n, p], { dtype: to });
}

/**
 * Numbers with normal distributions of means and deviations between bounds, of which one may be infinite; all broadcast to the end of
 * `shape`, and have gradients. Always the same for the same seed, two whole numbers: TensorFlow's where it draws them in one part. Throws
 * `TypeError` for parameters that are no floats, `ValueError` for shapes that do not fit, `InvalidArgumentError` for deviations that are not
 * above 0 and bounds that do not rise. TensorFlow op `StatelessParameterizedTruncatedNormal`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.random.statelessParameterizedTruncatedNormal([100], [1, 2], 5, 2, 4, 6);
 * console.log(tf.min(x).item() >= 4, tf.max(x).item() <= 6); // true true
 * ```
 */
export function statelessParameterizedTruncatedNormal(
  shape: TensorLike,
  seed: TensorLike,
  means: TensorLike = 0,
  stdDevs: TensorLike = 1,
  minvals: TensorLike = -2,
  maxvals: TensorLike = 2,
): Tensor {
  const fn = "random.statelessParameterizedTruncatedNormal", own = seedInput(seed, fn);
  const given = parameters([
    ["means", means],
    ["stdDevs", stdDevs],
    ["minvals", minvals],
    ["maxvals", maxvals],
  ], fn);
  const [{ dtype }] = given;
  if (isInteger(dtype)) throw new TypeError(`Cannot draw ${dtype} by ${fn}: wanted floats`);
  return apply1(StatelessTruncatedBetween, [dimsInput(shape, fn), own, ...given], { dtype });
}

/** The word that TensorFlow puts before a seed of two. */
const FIRST_WORD = 498247692;

/**
 * The place of each index among the whole numbers up to `maxIndex` in a random order, which a seed tells: two whole numbers, or `[n, 2]` for
 * an order each. No order is stored. TensorFlow's numbers. int32 or int64, signed or not. Throws `TypeError` for other dtypes, `ValueError`
 * for seeds of another shape, `InvalidArgumentError` for an index outside. TensorFlow op `RandomIndexShuffle`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const order = tf.random.indexShuffle(tf.range(0, 5, 1, "int32"), [1, 2], 4);
 * console.log(await tf.sort(order).array()); // [0, 1, 2, 3, 4]
 * ```
 */
export function indexShuffle(index: TensorLike, seed: TensorLike, maxIndex: TensorLike): Tensor {
  const fn = "random.indexShuffle", at = toIndexInput(index, "index", fn);
  const most = castInput(toIndexInput(maxIndex, "maxIndex", fn), at.dtype);
  const words = toIndexInput(seed, "seed", fn), dims = shapeOfInput(words);
  for (const [name, { dtype }] of Object.entries({ index: at, seed: words })) {
    if (["int32", "int64", "uint32", "uint64"].includes(dtype)) continue;
    throw new TypeError(`Cannot use ${dtype} as ${name} of ${fn}: wanted int32 or int64`);
  }
  if (dims === null || dims.length < 1 || dims.length > 2 || (dims.at(-1) ?? 2) !== 2) {
    throw new ValueError(
      `Cannot use a seed of shape ${shapeText(dims)} in ${fn}: wanted [2] or [n, 2]`,
    );
  }
  return compose(() => {
    const given = asTensor(words),
      first = castInput(toIndexInput(FIRST_WORD, "seed", fn), words.dtype);
    // A word for each seed.
    const lead = add(mul(gather(given, [0], dims.length - 1), 0), first);
    return apply1(RandomIndexShuffle, [at, concat([lead, given], -1), most]);
  });
}
