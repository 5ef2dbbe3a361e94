/** inTopKAsync: tests whether targets are among the greatest predictions. */
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { compatible, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { expandDims } from "../array/view.ts";
import { asTensor, castInput, shapeOfInput, toInput } from "../input.ts";
import { equal } from "../pointwise/compare.ts";
import { any } from "./reduce.ts";
import { topk } from "./topk.ts";

/**
 * True for each target, a place along the last axis of `predictions`, that is among the `k` greatest there; of equals
 * the first count. Bool, shaped like `targets`. TensorFlow.js `inTopKAsync`; nothing is read back, so that nothing
 * needs to be awaited. Rejects with `ValueError` where the shapes do not fit or `k` is not in `[1, classes]`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const y = await tf.inTopKAsync([[20, 10, 40, 30], [30, 50, -20, 10]], [2, 0], 1);
 * console.log(y.arraySync()); // [true, false]
 * ```
 */
// deno-lint-ignore require-await
export async function inTopKAsync(
  predictions: TensorLike,
  targets: TensorLike,
  k = 1,
): Promise<Tensor> {
  return compose(() => {
    const p = toInput(predictions, "predictions", "inTopK");
    const t = castInput(toInput(targets, "targets", "inTopK"), "int32");
    const classes = shapeOfInput(p), wanted = shapeOfInput(t);
    if (classes !== null && classes.length < 2) {
      throw new ValueError(
        `inTopK() expects the predictions to be of rank 2 or higher, but got ${classes.length}`,
      );
    }
    if (classes !== null && wanted !== null && classes.length - 1 !== wanted.length) {
      throw new ValueError(
        `predictions rank should be 1 larger than targets rank, but got predictions rank ${classes.length} and targets rank ${wanted.length}`,
      );
    }
    if (classes !== null && !compatible(classes.slice(0, -1), wanted)) {
      throw new ValueError(
        `predictions's shape should be align with the targets' shape, except the last dimension: received ${
          shapeText(classes)
        } and ${shapeText(wanted)}`,
      );
    }
    const most = classes?.at(-1) ?? Infinity;
    if (!(k > 0 && k <= most)) {
      throw new ValueError(
        `'k' passed to inTopK() must be > 0 && <= the predictions last dimension (${most}), but got ${k}`,
      );
    }
    return any(equal(topk(asTensor(p), k).indices, expandDims(asTensor(t), -1)), -1);
  });
}
