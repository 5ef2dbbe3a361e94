/** Smooth activation functions of the namespace `tf.nn` and rows brought to a mean, as Keras and JAX have them. */
import { optionCheck, wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { isConcrete, sizeOf } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { size } from "../array/view.ts";
import { add, div, mul, sub } from "../pointwise/arithmetic.ts";
import { greater } from "../pointwise/compare.ts";
import { expm1, log } from "../pointwise/exponential.ts";
import { rsqrt, sqrt, square } from "../pointwise/power.ts";
import { minimum, where } from "../pointwise/select.ts";
import { softplus } from "../pointwise/sigmoid.ts";
import { tanh } from "../pointwise/trigonometric.ts";
import type { Axes } from "../reduce/reduce.ts";
import { logSumExp, moments } from "../reduce/reduce_derived.ts";
import { toReal } from "./real_input.ts";

/**
 * `x` where positive, else `alpha * (e ** (x / alpha) - 1)`, whose slope is continuous. Integers become float32. Follows `jax.nn.celu` and `celu` of Keras 3; see
 * Barron (2017). Throws `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.celu([-Infinity, 0, 3], 2).arraySync()); // [-2, 0, 3]
 * ```
 */
export function celu(x: TensorLike, alpha = 1): Tensor {
  return compose(() => {
    const input = toReal(x, "celu");
    wantNumber(alpha, "alpha", "celu");
    return where(greater(input, 0), input, mul(expm1(div(minimum(input, 0), alpha)), alpha));
  });
}

/**
 * `x * tanh(softplus(x))`. Integers become float32. Follows `jax.nn.mish` and `mish` of Keras 3; see Misra (2020). Throws `TypeError` for values that are no
 * real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.mish([0, 1000]).arraySync()); // [0, 1000]
 * ```
 */
export function mish(x: TensorLike): Tensor {
  return compose(() => {
    const input = toReal(x, "mish");
    return mul(input, tanh(softplus(input)));
  });
}

/**
 * `(x + sqrt(x ** 2 + b)) / 2`, a softplus without exponentials. Integers become float32. Follows `jax.nn.squareplus` and `squareplus` of Keras 3; see Barron
 * (2021). Throws `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.squareplus([0, 1.5]).arraySync()); // [1, 2]
 * ```
 */
export function squareplus(x: TensorLike, b = 4): Tensor {
  return compose(() => {
    const input = toReal(x, "squareplus");
    wantNumber(b, "b", "squareplus");
    return mul(add(input, sqrt(add(square(input), b))), 0.5);
  });
}

/**
 * `x - tanh(x)`. Integers become float32. Follows `tanh_shrink` of Keras 3. Throws `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.tanhShrink([0, 1000]).arraySync()); // [0, 999]
 * ```
 */
export function tanhShrink(x: TensorLike): Tensor {
  return compose(() => {
    const input = toReal(x, "tanhShrink");
    return sub(input, tanh(input));
  });
}

/**
 * The logarithm of the mean of `e ** x` over axes, without overflow; over all where none is given. Integers become float32. Follows
 * `jax.nn.logmeanexp`. Throws `ValueError` for an axis out of range, `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.logMeanExp([1000, 1000]).item()); // 1000
 * ```
 */
export function logMeanExp(x: TensorLike, axis?: Axes, keepDims = false): Tensor {
  return compose(() => {
    const input = toReal(x, "logMeanExp"), total = logSumExp(input, axis, keepDims);
    const [all, rest] = [input.staticShape, total.staticShape];
    const isKnown = isConcrete(all) && isConcrete(rest);
    const count = isKnown
      ? sizeOf(all) / sizeOf(rest)
      : div(floats(size(input)), floats(size(total)));
    return sub(total, typeof count === "number" ? Math.log(count) : cast(log(count), input.dtype));
  });
}

const floats = (n: Tensor): Tensor => cast(n, "float32");

/** Options of `tf.nn.standardize`. */
export interface StandardizeOptions {
  /** The mean to subtract, broadcast with `x`. Default: that along the axes. */
  readonly mean?: TensorLike;
  /** The variance, broadcast with `x`. Default: that along the axes. */
  readonly variance?: TensorLike;
  /** Number added to the variance. Default 1e-5. */
  readonly epsilon?: number;
}

const checkStandardize = optionCheck<StandardizeOptions>("standardize", {
  mean: true,
  variance: true,
  epsilon: true,
});

/**
 * `x` with a mean of 0 and a variance of 1 along axes, the last one by default. Integers become float32. Follows `jax.nn.standardize`. Throws `ValueError` for
 * an axis out of range, `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.standardize([[1, 5], [4, 2]], -1, { epsilon: 0 }).arraySync()); // [[-1, 1], [1, -1]]
 * ```
 */
export function standardize(
  x: TensorLike,
  axis: Axes = -1,
  options: StandardizeOptions = {},
): Tensor {
  checkStandardize(options);
  return compose(() => {
    const input = toReal(x, "standardize"), { epsilon = 1e-5 } = options;
    wantNumber(epsilon, "epsilon", "standardize");
    const found = moments(input, axis, true);
    const { mean = found.mean, variance = found.variance } = options;
    const scale = rsqrt(add(variance, epsilon));
    return cast(mul(sub(input, mean), scale), input.dtype);
  });
}
