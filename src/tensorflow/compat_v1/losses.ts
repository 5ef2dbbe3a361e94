/**
 * Namespace `tf.compat.v1.losses`: the losses of `tf.losses`, which are added to a collection of the graph being built.
 */
import type { Tensor } from "../../engine/core/tensor.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { currentGraph } from "../../engine/graph/current_graph.ts";
import { addN } from "../../engine/ops/pointwise/arithmetic.ts";
import * as losses from "../../engine/ops/rows/losses.ts";
import { zeros } from "../../engine/ops/array/creation.ts";
import { addToCollection, getCollection, GraphKeys } from "./collections.ts";

/** Wraps a loss so that its result is added to the collection of the graph being built. */
function listed<A extends unknown[]>(loss: (...args: A) => Tensor): (...args: A) => Tensor {
  return (...args) => {
    const found = loss(...args);
    if (currentGraph() !== null) addLoss(found);
    return found;
  };
}

export { Reduction } from "../../engine/ops/rows/losses.ts";
/** `tf.losses.absoluteDifference`, listed. Follows TensorFlow `tf.compat.v1.losses.absolute_difference`. */
export const absoluteDifference: typeof losses.absoluteDifference = listed(
  losses.absoluteDifference,
);
/** `tf.losses.computeWeightedLoss`, listed. Follows TensorFlow `tf.compat.v1.losses.compute_weighted_loss`. */
export const computeWeightedLoss: typeof losses.computeWeightedLoss = listed(
  losses.computeWeightedLoss,
);
/** `tf.losses.cosineDistance`, listed. Follows TensorFlow `tf.compat.v1.losses.cosine_distance`. */
export const cosineDistance: typeof losses.cosineDistance = listed(losses.cosineDistance);
/** `tf.losses.hingeLoss`, listed. Follows TensorFlow `tf.compat.v1.losses.hinge_loss`. */
export const hingeLoss: typeof losses.hingeLoss = listed(losses.hingeLoss);
/** `tf.losses.huberLoss`, listed. Follows TensorFlow `tf.compat.v1.losses.huber_loss`. */
export const huberLoss: typeof losses.huberLoss = listed(losses.huberLoss);
/** `tf.losses.logLoss`, listed. Follows TensorFlow `tf.compat.v1.losses.log_loss`. */
export const logLoss: typeof losses.logLoss = listed(losses.logLoss);
/** `tf.losses.meanSquaredError`, listed. Follows TensorFlow `tf.compat.v1.losses.mean_squared_error`. */
export const meanSquaredError: typeof losses.meanSquaredError = listed(losses.meanSquaredError);
/** `tf.losses.sigmoidCrossEntropy`, listed. Follows TensorFlow `tf.compat.v1.losses.sigmoid_cross_entropy`. */
export const sigmoidCrossEntropy: typeof losses.sigmoidCrossEntropy = listed(
  losses.sigmoidCrossEntropy,
);
/** `tf.losses.softmaxCrossEntropy`, listed. Follows TensorFlow `tf.compat.v1.losses.softmax_cross_entropy`. */
export const softmaxCrossEntropy: typeof losses.softmaxCrossEntropy = listed(
  losses.softmaxCrossEntropy,
);

/**
 * Adds a loss to the collection. Follows TensorFlow `tf.compat.v1.losses.add_loss`. Throws `RuntimeError` in eager
 * mode.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { losses } = tf.compat.v1;
 * new tf.Graph().asDefault(() => {
 *   losses.addLoss(tf.constant(3));
 *   console.log(losses.getLosses().length); // 1
 * });
 * ```
 */
export function addLoss(loss: Tensor, lossCollection: string = GraphKeys.LOSSES): void {
  addToCollection(lossCollection, loss);
}
/**
 * Returns the losses of the graph, or those whose names begin with `scope`. Follows TensorFlow
 * `tf.compat.v1.losses.get_losses`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { losses } = tf.compat.v1;
 * new tf.Graph().asDefault(() => {
 *   losses.meanSquaredError([1], [2]);
 *   console.log(losses.getLosses().length); // 1
 * });
 * ```
 */
export function getLosses(scope?: string, lossCollection: string = GraphKeys.LOSSES): Tensor[] {
  return getCollection(lossCollection, scope) as Tensor[];
}
/**
 * Returns the losses of regularizers. Follows TensorFlow `tf.compat.v1.losses.get_regularization_losses`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1;
 * new tf.Graph().asDefault(() => {
 *   v1.getVariable("w", { shape: [2], regularizer: (w) => tf.sum(tf.square(w)) });
 *   console.log(v1.losses.getRegularizationLosses().length); // 1
 * });
 * ```
 */
export function getRegularizationLosses(scope?: string): Tensor[] {
  return getCollection(GraphKeys.REGULARIZATION_LOSSES, scope) as Tensor[];
}
/**
 * Returns the sum of the losses of regularizers; 0 without any. Follows TensorFlow
 * `tf.compat.v1.losses.get_regularization_loss`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const loss = graph.asDefault(() => v1.losses.getRegularizationLoss());
 * await using sess = new tf.Session({ graph });
 * console.log(await sess.run(loss)); // 0
 * ```
 */
export function getRegularizationLoss(scope?: string): Tensor {
  const found = getRegularizationLosses(scope);
  return found.length > 0 ? addN(found) : zeros([]);
}

/**
 * Returns the sum of all losses, by default with those of regularizers. Follows TensorFlow
 * `tf.compat.v1.losses.get_total_loss`. Throws `ValueError` where there is none.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { losses } = tf.compat.v1, g = new tf.Graph();
 * const total = g.asDefault(() => {
 *   losses.meanSquaredError([1, 2], [1, 4]);
 *   losses.absoluteDifference([1, 2], [1, 4]);
 *   return losses.getTotalLoss();
 * });
 * console.log(await new tf.Session({ graph: g }).run(total)); // 3
 * ```
 */
export function getTotalLoss(addRegularizationLosses = true, scope?: string): Tensor {
  const found = getLosses(scope);
  const all = addRegularizationLosses ? [...found, ...getRegularizationLosses(scope)] : found;
  if (all.length > 0) return addN(all);
  throw new ValueError("Cannot sum the losses of the graph: none was added");
}
