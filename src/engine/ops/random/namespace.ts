/** The namespace `tf.random`: TensorFlow's names of the random functions, and the stateless ones. */
import { wantNumber } from "../../core/arguments.ts";
import { asDType, type DType } from "../../core/dtype.ts";
import { apply1 } from "../../core/apply.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Distribution } from "../../core/meaning.ts";
import { toIndexInput } from "../input.ts";
import { add, mul } from "../pointwise/arithmetic.ts";
import { keyInput } from "./seed_input.ts";
import { INTEGERS, StatelessBits } from "./integer_ops.ts";
import { draw, REAL } from "./ops.ts";

export {
  categorical,
  randomGamma as gamma,
  randomNormal as normal,
  randomUniform as uniform,
  randomUniformInt as uniformInt,
  truncatedNormal,
} from "./random.ts";
export { foldIn, shuffle, split } from "./shuffle.ts";
export { statelessCategorical, statelessGamma } from "./stateless.ts";
export {
  indexShuffle,
  poisson,
  statelessBinomial,
  statelessParameterizedTruncatedNormal,
  statelessPoisson,
} from "./parameterized.ts";
export {
  allCandidateSampler,
  type CandidateSample,
  fixedUnigramCandidateSampler,
  type FixedUnigramOptions,
  learnedUnigramCandidateSampler,
  logUniformCandidateSampler,
  type RangeSamplerArguments,
  uniformCandidateSampler,
} from "./candidates.ts";
export { setRandomSeed as setSeed } from "./state.ts";

function stateless(
  distribution: Distribution,
  shape: TensorLike,
  seed: TensorLike,
  scale: number,
  shift: number,
  dtype: DType,
): Tensor {
  const source = { key: keyInput(seed) }, attrs = { dtype: asDType(dtype) };
  let x = draw(REAL[distribution], source, [toIndexInput(shape, "shape", "random")], attrs);
  if (scale !== 1) x = mul(x, scale);
  return shift === 0 ? x : add(x, shift);
}

/**
 * Numbers evenly distributed over `[minval, maxval)`: always the same for the same seed, two integers.
 * TensorFlow op `StatelessRandomUniform`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const draw = () => tf.random.statelessUniform([3], [1, 2]);
 * console.log(tf.equal(draw(), draw()).arraySync()); // [true, true, true]
 * ```
 */
export function statelessUniform(
  shape: TensorLike,
  seed: TensorLike,
  minval = 0,
  maxval = 1,
  dtype: DType = "float32",
): Tensor {
  wantNumber(minval, "minval", "statelessUniform");
  wantNumber(maxval, "maxval", "statelessUniform");
  return stateless("uniform", shape, seed, maxval - minval, minval, dtype);
}

/**
 * Numbers with a normal distribution: always the same for the same seed, two integers.
 * TensorFlow op `StatelessRandomNormal`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.random.statelessNormal([3], [1, 2]).shape); // [3]
 * ```
 */
export function statelessNormal(
  shape: TensorLike,
  seed: TensorLike,
  mean = 0,
  stdDev = 1,
  dtype: DType = "float32",
): Tensor {
  return stateless("normal", shape, seed, stdDev, mean, dtype);
}

/**
 * Numbers with a normal distribution cut at two standard deviations: always the same for the same seed, two integers.
 * TensorFlow op `StatelessTruncatedNormal`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.random.statelessTruncatedNormal([3], [1, 2]).shape); // [3]
 * ```
 */
export function statelessTruncatedNormal(
  shape: TensorLike,
  seed: TensorLike,
  mean = 0,
  stdDev = 1,
  dtype: DType = "float32",
): Tensor {
  return stateless("truncated", shape, seed, stdDev, mean, dtype);
}

/**
 * Whole numbers evenly distributed over `[minval, maxval)`: always the same for the same seed, two integers.
 * Throws `ValueError` where the interval is empty. TensorFlow op `StatelessRandomUniformInt`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.random.statelessUniformInt([3], [1, 2], 5, 6).arraySync()); // [5, 5, 5]
 * ```
 */
export function statelessUniformInt(
  shape: TensorLike,
  seed: TensorLike,
  minval: number,
  maxval: number,
): Tensor {
  const dims = toIndexInput(shape, "shape", "random");
  return draw(INTEGERS, { key: keyInput(seed) }, [
    dims,
    toIndexInput(minval, "minval", "statelessUniformInt"),
    toIndexInput(maxval, "maxval", "statelessUniformInt"),
  ]);
}

/**
 * Random bits: whole numbers of the full range of `int32`, `uint32`, `int64` or `uint64`, always the same for the same
 * seed, two integers. TensorFlow op `StatelessRandomUniformFullInt`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.random.statelessBits([2], [0, 0], "uint32").arraySync()); // [1797259609, 2579123966]
 * ```
 */
export function statelessBits(
  shape: TensorLike,
  seed: TensorLike,
  dtype: DType = "uint32",
): Tensor {
  const inputs = [toIndexInput(shape, "shape", "random"), keyInput(seed)];
  return apply1(StatelessBits, inputs, { dtype: asDType(dtype) });
}
