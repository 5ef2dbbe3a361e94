/** Optimizers as plain values. */
import { wrongArgument } from "../../engine/core/arguments.ts";
import { Optimizer, type SavedOptimizer } from "./optimizer.ts";

/**
 * Returns an optimizer's class and settings, of which `tf.train.deserialize` makes an equal one; JSON holds them, but for rates and
 * other arguments that are functions. Follows Keras `keras.optimizers.serialize`. Throws `TypeError` for what is no optimizer.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { className, config } = tf.train.serialize(tf.train.sgd(0.5));
 * console.log(className, config); // SGD { learningRate: 0.5 }
 * ```
 */
export function serialize(optimizer: Optimizer): SavedOptimizer {
  if (!(optimizer instanceof Optimizer)) {
    throw wrongArgument(optimizer, "optimizer", "serialize", "an optimizer");
  }
  return { className: optimizer.getClassName(), config: optimizer.getConfig() };
}
