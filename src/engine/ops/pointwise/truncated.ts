/** Quotients and remainders of division towards zero. */
import { lookupOp } from "../../core/op.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { isInteger } from "../../core/dtype.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { applyConverted, toMatchingInputs } from "../input.ts";

/**
 * `a / b` of whole numbers, rounded towards zero; broadcasts. Throws `TypeError` for other numbers, `ValueError` for shapes
 * that do not broadcast. On the CPU a divisor of 0 throws as in `floorDiv`. TensorFlow op `TruncateDiv`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const a = tf.tensor1d([-7, 7], "int32");
 * console.log(await tf.truncateDiv(a, 2).array(), await tf.floorDiv(a, 2).array()); // [-3, 3] [-4, 3]
 * ```
 */
export function truncateDiv(a: TensorLike, b: TensorLike): Tensor {
  const inputs = toMatchingInputs(a, b, "truncateDiv");
  if (!isInteger(inputs[0].dtype)) {
    throw new TypeError(
      `Cannot apply truncateDiv to ${inputs[0].dtype}: wanted whole numbers`,
    );
  }
  return applyConverted(lookupOp("TruncateDiv")!, inputs, [a, b]);
}

/**
 * The remainder of `a / b` rounded towards zero, which has the sign of `a`; broadcasts. Throws `TypeError` for complex numbers
 * and texts, `ValueError` for shapes that do not broadcast. TensorFlow op `TruncateMod`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.truncateMod([-7, 7], 3).array(), await tf.mod([-7, 7], 3).array()); // [-1, 1] [2, 1]
 * ```
 */
export function truncateMod(a: TensorLike, b: TensorLike): Tensor {
  return applyConverted(lookupOp("TruncateMod")!, toMatchingInputs(a, b, "truncateMod"), [a, b]);
}
