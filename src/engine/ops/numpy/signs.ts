/** NumPy's signs, roots and powers of elements that stand nowhere else. */
import { compose } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { bitcast } from "../array/bitcast.ts";
import { toMatchingInputs } from "../input.ts";
import { neg } from "../pointwise/arithmetic.ts";
import { equal, isInf, less } from "../pointwise/compare.ts";
import { logicalAnd, logicalNot } from "../pointwise/logical.ts";
import { pow } from "../pointwise/power.ts";
import { abs, ceil, floor } from "../pointwise/rounding.ts";
import { where } from "../pointwise/select.ts";
import { realInput } from "./inputs.ts";
import { logOfSum } from "./products.ts";

/** Integers of as many bits. */
const BITS: Readonly<Record<string, DType>> = {
  float16: "int16",
  bfloat16: "int16",
  float32: "int32",
  float64: "int64",
};

const isSigned = (x: Tensor): Tensor => less(bitcast(x, BITS[x.dtype]), 0);

function pair(a: TensorLike, b: TensorLike, fn: string): [Tensor, Tensor] {
  const [x, y] = toMatchingInputs(a, b, fn, ["a", "b"]);
  return [realInput(x as TensorLike, "a", fn), realInput(y as TensorLike, "b", fn)];
}

/**
 * True where the sign bit is set: below 0, and at -0. Of the shape of `x`, bool. Integers become float32. Follows `numpy.signbit`, in TensorFlow
 * `tf.experimental.numpy.signbit`. Throws `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.signbit([-2, -0, 0, 3]).arraySync()); // [true, true, false, false]
 * ```
 */
export function signbit(x: TensorLike): Tensor {
  return compose(() => isSigned(realInput(x, "x", "signbit")));
}

/**
 * The sizes of `a` with the signs of `b`, of the broadcast shape; -0 has a sign. Integers become float32. Follows `numpy.copysign`. Throws `ValueError` for shapes that do not broadcast,
 * `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.copysign([1, -2], [-3, 4]).arraySync()); // [-1, 2]
 * ```
 */
export function copysign(a: TensorLike, b: TensorLike): Tensor {
  return compose(() => {
    const [x, y] = pair(a, b, "copysign"), size = abs(x);
    return where(isSigned(y), neg(size), size);
  });
}

/**
 * The real cube root, of the sign of `x`. Integers become float32. Follows `numpy.cbrt`, in TensorFlow `tf.experimental.numpy.cbrt`. Throws `TypeError` for values that are
 * no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.round(tf.experimental.numpy.cbrt([-27, 0, 8])).arraySync()); // [-3, 0, 2]
 * ```
 */
export function cbrt(x: TensorLike): Tensor {
  return compose(() => {
    const input = realInput(x, "x", "cbrt"), isBelow = less(input, 0);
    // The size by `where`, whose slope at 0 is one-sided, so that the root's is infinite there and not NaN.
    const root = pow(where(isBelow, neg(input), input), 1 / 3) as Tensor;
    return where(isBelow, neg(root), where(equal(input, 0), input, root));
  });
}

/**
 * `x` without its digits after the point, towards 0. Integers become float32. Follows `numpy.fix`, in TensorFlow `tf.experimental.numpy.fix`. Throws as {@linkcode cbrt}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.fix([-1.7, 1.7]).arraySync()); // [-1, 1]
 * ```
 */
export function fix(x: TensorLike): Tensor {
  return compose(() => {
    const input = realInput(x, "x", "fix");
    return where(less(input, 0), ceil(input), floor(input));
  });
}

/**
 * True where `x` is negative infinity; of the shape of `x`, bool. Follows `numpy.isneginf`, in TensorFlow `tf.experimental.numpy.isneginf`. Throws as {@linkcode cbrt}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.isneginf([-Infinity, 1, Infinity]).arraySync()); // [true, false, false]
 * ```
 */
export function isneginf(x: TensorLike): Tensor {
  return compose(() => {
    const input = realInput(x, "x", "isneginf");
    return logicalAnd(isInf(input), less(input, 0));
  });
}

/**
 * True where `x` is positive infinity; of the shape of `x`, bool. Follows `numpy.isposinf`, in TensorFlow `tf.experimental.numpy.isposinf`. Throws as {@linkcode cbrt}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.isposinf([-Infinity, 1, Infinity]).arraySync()); // [false, false, true]
 * ```
 */
export function isposinf(x: TensorLike): Tensor {
  return compose(() => {
    const input = realInput(x, "x", "isposinf");
    return logicalAnd(isInf(input), logicalNot(less(input, 0)));
  });
}

/**
 * Powers of floats, of the broadcast shape: integers become float32 first, so that negative exponents are fractions. Follows `numpy.float_power`, in TensorFlow
 * `tf.experimental.numpy.float_power`. Throws as {@linkcode copysign}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.floatPower([2, 4], [3, -1]).arraySync()); // [8, 0.25]
 * ```
 */
export function floatPower(a: TensorLike, b: TensorLike): Tensor {
  return compose(() => {
    const [x, y] = pair(a, b, "floatPower");
    return pow(x, y) as Tensor;
  });
}

/**
 * The logarithm to base 2 of `2 ** a + 2 ** b` without overflow, of the broadcast shape. Integers become float32. Follows `numpy.logaddexp2`, in TensorFlow
 * `tf.experimental.numpy.logaddexp2`. Throws as {@linkcode copysign}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.logaddexp2([1000, -Infinity], [-Infinity, 3]).arraySync()); // [1000, 3]
 * ```
 */
export function logaddexp2(a: TensorLike, b: TensorLike): Tensor {
  return compose(() => {
    const [x, y] = pair(a, b, "logaddexp2");
    return logOfSum(x, y, Math.LN2);
  });
}
