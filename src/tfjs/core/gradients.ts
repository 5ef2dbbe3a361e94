/**
 * Gradients as TensorFlow.js has them: integers and booleans have some, of float32. Weft's own functions, as TensorFlow's, give them none.
 */
import * as weft from "../../../mod.ts";
import { isTrainable } from "../../engine/core/dtype.ts";
import { Tensor, type TensorLike } from "../../engine/core/tensor.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { followingNumbers } from "../../engine/autodiff/number_flow.ts";
import { FLAT, STAND_INS } from "./kernels/gradients.ts";

const withNumbers = followingNumbers({ flat: FLAT, standIns: STAND_INS });

function checkSeed(dy: TensorLike | undefined): void {
  if (!(dy instanceof Tensor) || isTrainable(dy.dtype)) return;
  throw new TypeError(`Cannot use dy as a gradient: received ${dy.dtype}, wanted float32`);
}

/** A gradient function that checks the gradient it is given. */
function checked<X, Y extends TensorLike, R>(
  gradient: (x: X, dy?: Y) => R,
): (x: X, dy?: Y) => R {
  return (x, dy) => {
    checkSeed(dy);
    return gradient(x, dy);
  };
}

/**
 * The gradient function of a function of one tensor. See `tf.grad`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.grad((x) => tf.square(x))(tf.scalar(3)).dataSync()[0]); // 6
 * ```
 */
export function grad(f: (x: Tensor) => Tensor): (x: TensorLike, dy?: TensorLike) => Tensor {
  return checked(withNumbers(f, (f) => weft.grad(f)));
}
/**
 * The gradient function of a function of several tensors. See `tf.grads`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const [da, db] = tf.grads((a, b) => tf.mul(a, b))([tf.scalar(2), tf.scalar(3)]);
 * console.log(da.dataSync()[0], db.dataSync()[0]); // 3 2
 * ```
 */
export function grads(
  f: (...xs: Tensor[]) => Tensor,
): (xs: readonly TensorLike[], dy?: TensorLike) => Tensor[] {
  return checked(withNumbers(f, weft.grads));
}
/**
 * The value and the gradient. See `tf.valueAndGrad`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const { value, grad } = tf.valueAndGrad((x) => tf.square(x))(tf.scalar(3));
 * console.log(value.dataSync()[0], grad.dataSync()[0]); // 9 6
 * ```
 */
export function valueAndGrad(
  f: (x: Tensor) => Tensor,
): (x: Tensor, dy?: Tensor) => weft.ValueAndGrad {
  return checked(withNumbers(f, weft.valueAndGrad));
}
/**
 * The value and the gradients. See `tf.valueAndGrads`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const { grads } = tf.valueAndGrads((a, b) => tf.mul(a, b))([tf.scalar(2), tf.scalar(3)]);
 * console.log(grads.map((g) => g.dataSync()[0])); // [3, 2]
 * ```
 */
export function valueAndGrads(
  f: (...xs: Tensor[]) => Tensor,
): (xs: readonly Tensor[], dy?: Tensor) => weft.ValueAndGrads {
  return checked(withNumbers(f, weft.valueAndGrads));
}
/**
 * The value and the gradients of variables. See `tf.variableGrads`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const w = tf.variable(tf.scalar(3), true, "a_weight");
 * const { grads } = tf.variableGrads(() => tf.square(w), [w]);
 * console.log(grads.a_weight.dataSync()[0]); // 6
 * w.dispose();
 * ```
 */
export function variableGrads(
  f: () => Tensor,
  varList?: readonly Tensor[],
): weft.ValueAndVariableGrads {
  return withNumbers(f, (f) => () => weft.variableGrads(f, varList))();
}
