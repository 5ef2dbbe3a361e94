/** Activation functions of the namespace `tf.nn` that are made of others. */
import { wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { concat } from "../array/join.ts";
import { asTensor, toFloatInput, toInput } from "../input.ts";
import { relu } from "../pointwise/activation.ts";
import { mul, neg } from "../pointwise/arithmetic.ts";
import { sigmoid } from "../pointwise/sigmoid.ts";

/**
 * `x * sigmoid(beta * x)`, the sigmoid linear unit. Integers become float32. Throws `TypeError` for values that are no numbers.
 * Follows TensorFlow `tf.nn.silu`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.silu([-1000, 0, 1000]).arraySync()); // [-0, 0, 1000]
 * ```
 */
export function silu(x: TensorLike, beta = 1): Tensor {
  return compose(() => {
    wantNumber(beta, "beta", "silu");
    const input = asTensor(toFloatInput(x, "x", "silu"));
    return mul(input, sigmoid(beta === 1 ? input : mul(input, beta)));
  });
}

/**
 * As {@linkcode silu}, by its other name in TensorFlow, `tf.nn.swish`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.swish([0, 1000], 2).arraySync()); // [0, 1000]
 * ```
 */
export const swish: typeof silu = silu;

/**
 * The positive and then the negative parts of `x`, one after the other along an axis: `relu` of `x` and of `-x`. Throws `ValueError`
 * for an axis out of range and for scalars. Follows TensorFlow `tf.nn.crelu`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.crelu([[2, -3]]).arraySync()); // [[2, 0, 0, 3]]
 * ```
 */
export function crelu(x: TensorLike, axis = -1): Tensor {
  return compose(() => {
    const input = asTensor(toInput(x, "x", "crelu"));
    return relu(concat([input, neg(input)], axis));
  });
}
