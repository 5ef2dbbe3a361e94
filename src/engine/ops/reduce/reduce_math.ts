/** Functions of the namespace `tf.math` that count, measure and normalise, made of reductions. */
import { compose } from "../../core/apply.ts";
import { type DType, DTYPES } from "../../core/dtype.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { reshape } from "../array/view.ts";
import { stridedSlice } from "../array/strided_slice.ts";
import { asTensor, toFloatInput, toInput } from "../input.ts";
import { mul, sub } from "../pointwise/arithmetic.ts";
import { real } from "../pointwise/complex.ts";
import { greater, greaterEqual, notEqual } from "../pointwise/compare.ts";
import { logicalNot } from "../pointwise/logical.ts";
import { rsqrt, sqrt, square } from "../pointwise/power.ts";
import { abs } from "../pointwise/rounding.ts";
import { maximum } from "../pointwise/select.ts";
import { lgamma } from "../pointwise/special.ts";
import { all, type Axes, mean, sum } from "./reduce.ts";
import { moments } from "./reduce_derived.ts";

const toFloat = (x: TensorLike, fn: string): Tensor => asTensor(toFloatInput(x, "x", fn));

/**
 * The number of elements that are not zero (not empty, of strings) over axes; over all where none is given. `dtype` is that of the
 * result. Follows TensorFlow `tf.math.count_nonzero`, whose result is int64 where none is given. Throws `ValueError` for an axis out of
 * range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.math.countNonzero([[0, 1], [2, 3]], 1).array()); // [1, 2]
 * ```
 */
export function countNonzero(
  input: TensorLike,
  axis?: Axes,
  keepDims = false,
  dtype: DType = "int32",
): Tensor {
  return compose(() => {
    const counted = nonzero(asTensor(toInput(input, "input", "countNonzero")));
    return sum(cast(counted, dtype), axis, keepDims);
  });
}

/**
 * The part of a value's elements that are zeros, a float32 scalar; NaN where there are none. Follows TensorFlow `tf.math.zero_fraction`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.zeroFraction([0, 1, 0, 3]).item()); // 0.5
 * ```
 */
export function zeroFraction(value: TensorLike): Tensor {
  return compose(() => {
    const input = asTensor(toInput(value, "value", "zeroFraction"));
    return mean(cast(logicalNot(nonzero(input)), "float32"));
  });
}

function nonzero(input: Tensor): Tensor {
  return notEqual(input, input.dtype === "string" ? "" : cast(0, input.dtype));
}

/**
 * A value whose squares sum to 1 over axes; over all where none is given. Squares that sum to less than `epsilon` count as that.
 * Integers become float32. Follows TensorFlow `tf.math.l2_normalize`. Throws `ValueError` for an axis out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.math.l2Normalize([0, -2]).array()); // [0, -1]
 * ```
 */
export function l2Normalize(x: TensorLike, axis?: Axes, epsilon = 1e-12): Tensor {
  return compose(() => {
    const input = toFloat(x, "l2Normalize");
    const size = sum(square(abs(input)), axis, true);
    return mul(input, cast(rsqrt(maximum(size, epsilon)), input.dtype));
  });
}

/**
 * The mean squared distance from the mean over axes, a real number; over all where none is given. Integers become float32. Follows TensorFlow
 * `tf.math.reduce_variance`. Throws `ValueError` for an axis out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.math.reduceVariance([[1, 3], [2, 8]], 1).array()); // [1, 9]
 * ```
 */
export function reduceVariance(x: TensorLike, axis?: Axes, keepDims = false): Tensor {
  return compose(() => varianceOf(toFloat(x, "reduceVariance"), axis, keepDims));
}

/**
 * The root of {@linkcode reduceVariance}. Follows TensorFlow `tf.math.reduce_std`. Throws `ValueError` for an axis out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.math.reduceStd([[1, 3], [2, 8]], 1).array()); // [1, 3]
 * ```
 */
export function reduceStd(x: TensorLike, axis?: Axes, keepDims = false): Tensor {
  return compose(() => sqrt(varianceOf(toFloat(x, "reduceStd"), axis, keepDims)));
}

function varianceOf(x: Tensor, axis: Axes, keepDims: boolean): Tensor {
  const { variance } = moments(x, axis, keepDims);
  return DTYPES[x.dtype].kind === "complex" ? real(variance) : variance;
}

/**
 * The logarithm of the beta function of each row: of the gamma functions' product, over that of the sum. Of shape `[..., n]`, gives
 * `[...]`. Integers become float32. Follows TensorFlow `tf.math.lbeta`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.exp(tf.math.lbeta([2, 3])).item().toFixed(4)); // 0.0833
 * ```
 */
export function lbeta(x: TensorLike): Tensor {
  return compose(() => {
    const input = toFloat(x, "lbeta");
    return sub(sum(lgamma(input), -1), lgamma(sum(input, -1)));
  });
}

/**
 * True where no element is less than the one before it, in the order of rows. A bool scalar. Follows TensorFlow
 * `tf.math.is_non_decreasing`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.isNonDecreasing([1, 1, 3]).item()); // true
 * ```
 */
export function isNonDecreasing(x: TensorLike): Tensor {
  return compose(() => all(inOrder(x, "isNonDecreasing", greaterEqual)));
}

/**
 * True where each element is greater than the one before it, in the order of rows. A bool scalar. Follows TensorFlow
 * `tf.math.is_strictly_increasing`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.isStrictlyIncreasing([1, 1, 3]).item()); // false
 * ```
 */
export function isStrictlyIncreasing(x: TensorLike): Tensor {
  return compose(() => all(inOrder(x, "isStrictlyIncreasing", greater)));
}

/** Compares each element with the one before it. */
function inOrder(x: TensorLike, fn: string, compare: (a: Tensor, b: Tensor) => Tensor): Tensor {
  const flat = reshape(asTensor(toInput(x, "x", fn)), [-1]);
  return compare(
    stridedSlice(flat, [1], [0], undefined, 0, 1),
    stridedSlice(flat, [0], [-1]),
  );
}
