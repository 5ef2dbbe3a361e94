/** Pointwise functions of the namespace `tf.math` that are made of others. */
import { partOf } from "../../core/scalar/operations.ts";
import { apply1, compose } from "../../core/apply.ts";
import { wantList } from "../../core/arguments.ts";
import { lookupOp } from "../../core/op.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { zerosLike } from "../array/creation.ts";
import { asTensor, toFloatInput, toIndexInput, toInput, wantArgument } from "../input.ts";
import { add, divNoNan, mul, neg } from "./arithmetic.ts";
import { less } from "./compare.ts";
import { imag, real } from "./complex.ts";
import { where } from "./select.ts";
import { ndtri } from "./special.ts";
import { atan2 } from "./trigonometric.ts";

/**
 * `1 / x`, 0 where `x` is 0. Integers become float32. Follows TensorFlow `tf.math.reciprocal_no_nan`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.math.reciprocalNoNan([2, 0]).array()); // [0.5, 0]
 * ```
 */
export function reciprocalNoNan(x: TensorLike): Tensor {
  return compose(() => divNoNan(1, asTensor(toFloatInput(x, "x", "reciprocalNoNan"))));
}

/**
 * The inverse of `1 - erf(x)`: infinite at 0 and 2, NaN outside. Integers become float32. Follows TensorFlow `tf.math.erfcinv`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.erfcinv(0.5).item().toFixed(4)); // 0.4769
 * ```
 */
export function erfcinv(x: TensorLike): Tensor {
  return compose(() => {
    const half = mul(asTensor(toFloatInput(x, "x", "erfcinv")), 0.5);
    return mul(neg(ndtri(half)), Math.SQRT1_2);
  });
}

/**
 * A polynomial of `x` by Horner's rule; `coeffs` begin with that of the highest power and broadcast with `x`; zeros where there are none.
 * Follows TensorFlow `tf.math.polyval`. Throws `ValueError` for shapes that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.math.polyval([2, 0, 1], [1, 3]).array()); // [3, 19]
 * ```
 */
export function polyval(coeffs: readonly TensorLike[], x: TensorLike): Tensor {
  wantList(coeffs, "coeffs", "polyval", "tensors");
  return compose(() => {
    const at = asTensor(toInput(x, "x", "polyval")), none: Tensor = zerosLike(at);
    return coeffs.reduce<Tensor>((total, c, i) => add(i === 0 ? none : mul(total, at), c), none);
  });
}

/**
 * The angle of each complex number; of numbers 0, or π below 0. Integers become float32. Follows TensorFlow `tf.math.angle`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.angle(tf.complex(0, 2)).item().toFixed(4)); // 1.5708
 * ```
 */
export function angle(x: TensorLike): Tensor {
  return compose(() => {
    const at = asTensor(toInput(x, "x", "angle"));
    if (partOf(at.dtype) !== at.dtype) return atan2(imag(at), real(at));
    const own = asTensor(toFloatInput(at, "x", "angle"));
    return where(less(own, 0), Math.PI, zerosLike(own));
  });
}

/**
 * The place of each whole number in a permutation of those from 0 on, int32. Throws `ValueError` for other ranks and for
 * numbers that are no permutation. TensorFlow op `InvertPermutation`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.invertPermutation([2, 0, 1]).arraySync()); // [1, 2, 0]
 * ```
 */
export function invertPermutation(x: TensorLike): Tensor {
  const order = toIndexInput(x, "x", "invertPermutation");
  wantArgument(order, 1, "invertPermutation", "x");
  return apply1(lookupOp("InvertPermutation")!, [order]);
}
