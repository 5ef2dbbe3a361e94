/** gradPassThrough: a function whose gradient is that of the identity. */
import { wantFunction, wrongArgument } from "../core/arguments.ts";
import { ValueError } from "../core/errors.ts";
import { compatible, shapeText } from "../core/shape.ts";
import { Tensor, type TensorLike } from "../core/tensor.ts";
import { asTensor, toInput } from "../ops/input.ts";
import { customGrad } from "./custom_grad.ts";

/**
 * A function that computes what `f` does and passes gradients on as if it returned its argument: the straight-through
 * estimator, as for rounding. Throws `TypeError` where `f` is no function or returns no tensor, `ValueError` where its result
 * has another shape than the argument. Follows TensorFlow `tf.grad_pass_through`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const round = tf.gradPassThrough((x) => tf.round(x));
 * console.log(await round([1.2, 2.7]).array()); // [1, 3]
 * console.log(await tf.grad((x) => tf.square(round(x)))(tf.tensor([1.2, 2.7])).array()); // [2, 6]
 * ```
 */
export function gradPassThrough(f: (x: Tensor) => Tensor): (x: TensorLike) => Tensor {
  wantFunction(f, "f", "gradPassThrough");
  const op = customGrad((x) => {
    const value = f(x);
    if (!(value instanceof Tensor)) {
      throw wrongArgument(value, "f", "gradPassThrough", "a function that returns a tensor");
    }
    if (!compatible(value.staticShape, x.staticShape)) {
      throw new ValueError(
        `Cannot pass gradients through f: its result has shape ${
          shapeText(value.staticShape)
        }, its argument ${shapeText(x.staticShape)}`,
      );
    }
    return { value, gradFunc: (dy) => dy };
  });
  return (x) => op(asTensor(toInput(x, "x", "gradPassThrough")));
}
