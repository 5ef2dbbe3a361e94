/** Sums from which moments are made, in the namespace `tf.nn`. */
import { argumentsCheck, optionCheck } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { gather } from "../array/gather.ts";
import { fill } from "../array/creation.ts";
import { rank, shape } from "../array/view.ts";
import { asTensor, castInput, shapeOfInput, toFloatInput, toIndexInput } from "../input.ts";
import { add, mod, mul, sub } from "../pointwise/arithmetic.ts";
import { reciprocal, square, squaredDifference } from "../pointwise/power.ts";
import { prod } from "../reduce/prod.ts";
import { sum } from "../reduce/reduce.ts";
import { batchNorm } from "../rows/normalize.ts";

/** Sums over axes, from which {@linkcode normalizeMoments} makes a mean and a variance. */
export interface SufficientStatistics {
  /** Number of the elements in each sum, a scalar of the sums' dtype. */
  readonly count: TensorLike;
  /** Sums of the elements, less the shift. */
  readonly meanSs: TensorLike;
  /** Sums of the squares of the elements, less the shift. */
  readonly varianceSs: TensorLike;
  /** The number by which elements were shifted; null for nothing. */
  readonly shift?: TensorLike | null;
}

/** Options of {@linkcode sufficientStatistics}. */
export interface SufficientStatisticsOptions {
  /** A number near the mean, by which the elements are shifted before they are squared: sums keep more digits. */
  readonly shift?: TensorLike | null;
  /** True: the axes stay with extent 1. Default false. */
  readonly keepDims?: boolean;
}

const checkOptions = optionCheck<SufficientStatisticsOptions>("sufficientStatistics", {
  shift: true,
  keepDims: true,
});

/**
 * The number of elements, their sums and the sums of their squares over axes, for {@linkcode normalizeMoments}: sums of several parts
 * are added before. Integers become float32. Throws `ValueError` for an axis out of range. Follows TensorFlow
 * `tf.nn.sufficient_statistics`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { count, meanSs, varianceSs } = tf.nn.sufficientStatistics([[1, 2], [3, 4]], [0]);
 * console.log(count.item(), meanSs.arraySync(), varianceSs.arraySync()); // 2 [4, 6] [10, 20]
 * ```
 */
export function sufficientStatistics(
  x: TensorLike,
  axes: number | readonly number[],
  options: SufficientStatisticsOptions = {},
): Record<"count" | "meanSs" | "varianceSs", Tensor> & { readonly shift: Tensor | null } {
  checkOptions(options);
  return compose(() => {
    const fn = "sufficientStatistics", keepDims = options.keepDims ?? false;
    const input = asTensor(toFloatInput(x, "x", fn));
    const by = options.shift === undefined || options.shift === null
      ? null
      : asTensor(castInput(toFloatInput(options.shift, "shift", fn), input.dtype));
    const meanSs = sum(by === null ? input : sub(input, by), axes, keepDims);
    const squares = by === null ? square(input) : squaredDifference(input, by);
    const varianceSs = sum(squares, axes, keepDims);
    return { count: countOver(input, axes, fn), meanSs, varianceSs, shift: by };
  });
}

/** Number of the elements along axes, which were checked before. */
function countOver(input: Tensor, axes: number | readonly number[], fn: string): Tensor {
  const list = [axes].flat(), known = shapeOfInput(input);
  const extents = known &&
    [...new Set(list.map((a) => a < 0 ? a + known.length : a))].map((a) => known[a]);
  if (extents?.every((n) => n !== null)) {
    return fill([], extents.reduce((all, n) => all * n, 1), input.dtype);
  }
  const at = mod(asTensor(toIndexInput(list, "axes", fn)), rank(input));
  return prod(cast(gather(shape(input), at), input.dtype));
}

const checkStatistics = argumentsCheck<SufficientStatistics>("normalizeMoments", {
  count: true,
  meanSs: true,
  varianceSs: true,
  shift: true,
});

/**
 * The mean and the variance of the sums that {@linkcode sufficientStatistics} gives. Integers become float32. Throws `ValueError` for
 * shapes that do not broadcast. Follows TensorFlow `tf.nn.normalize_moments`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { mean, variance } = tf.nn.normalizeMoments(tf.nn.sufficientStatistics([1, 3], [0]));
 * console.log(mean.item(), variance.item()); // 2 1
 * ```
 */
export function normalizeMoments(
  statistics: SufficientStatistics,
): { mean: Tensor; variance: Tensor } {
  checkStatistics(statistics);
  return compose(() => {
    const fn = "normalizeMoments", { shift } = statistics;
    const sums = asTensor(toFloatInput(statistics.meanSs, "meanSs", fn)), { dtype } = sums;
    const part = (x: TensorLike, arg: string): Tensor =>
      asTensor(castInput(toFloatInput(x, arg, fn), dtype));
    const by = reciprocal(part(statistics.count, "count")), near = mul(sums, by);
    return {
      mean: shift === undefined || shift === null ? near : add(near, part(shift, "shift")),
      variance: sub(mul(part(statistics.varianceSs, "varianceSs"), by), square(near)),
    };
  });
}

/** Arguments of {@linkcode batchNormWithGlobalNormalization} beside its input. */
export interface GlobalNormalizationArgs {
  /** Means, one for each channel. */
  readonly mean: TensorLike;
  /** Variances, one for each channel. */
  readonly variance: TensorLike;
  /** The summand of the normalized. */
  readonly beta: TensorLike;
  /** The factor of the normalized; read where `scaleAfterNormalization` is true. */
  readonly gamma: TensorLike;
  /** A small number that is added to the variance. */
  readonly varianceEpsilon: number;
  /** True: the normalized is multiplied by gamma. */
  readonly scaleAfterNormalization: boolean;
}

const checkGlobal = argumentsCheck<GlobalNormalizationArgs>("batchNormWithGlobalNormalization", {
  mean: true,
  variance: true,
  beta: true,
  gamma: true,
  varianceEpsilon: true,
  scaleAfterNormalization: true,
});

/**
 * Normalizes with given means and variances, as `tf.batchNorm` does, with a factor only where it is asked for. Throws `ValueError`
 * where shapes do not fit. Follows TensorFlow `tf.nn.batch_norm_with_global_normalization`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const args = { mean: [1], variance: [4], beta: [1], gamma: [3], varianceEpsilon: 0 };
 * const y = tf.nn.batchNormWithGlobalNormalization([[5]], { ...args, scaleAfterNormalization: true });
 * console.log(y.arraySync()); // [[7]]
 * ```
 */
export function batchNormWithGlobalNormalization(
  input: TensorLike,
  args: GlobalNormalizationArgs,
): Tensor {
  checkGlobal(args);
  const { mean, variance, beta, gamma, varianceEpsilon } = args;
  const scale = args.scaleAfterNormalization ? gamma : null;
  return batchNorm(input, mean, variance, beta, scale, varianceEpsilon);
}
