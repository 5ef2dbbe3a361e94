/** The step count of a graph. */
import { ValueError } from "../../engine/core/errors.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";
import { graphFor, GraphKeys } from "./collections.ts";
import { variable } from "./variables.ts";

/**
 * Returns the graph's step count, or null. Follows TensorFlow `tf.compat.v1.train.get_global_step`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { createGlobalStep, getGlobalStep } = tf.compat.v1.train;
 * new tf.Graph().asDefault(() => {
 *   console.log(getGlobalStep()); // null
 *   console.log(createGlobalStep() === getGlobalStep()); // true
 * });
 * ```
 */
export function getGlobalStep(): Variable | null {
  const [v] = graphFor("getGlobalStep()").getCollection(GraphKeys.GLOBAL_STEP);
  return (v as Variable | undefined) ?? null;
}

/**
 * Creates the graph's step count. Follows TensorFlow `tf.compat.v1.train.create_global_step`. Throws `ValueError` where
 * it has one.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { createGlobalStep } = tf.compat.v1.train;
 * console.log(new tf.Graph().asDefault(() => createGlobalStep().name)); // global_step
 * ```
 */
export function createGlobalStep(): Variable {
  if (getGlobalStep() !== null) throw new ValueError('"global_step" already exists.');
  return variable(0, {
    trainable: false,
    name: "global_step",
    dtype: "int64",
    collections: [GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
  });
}

/**
 * Finds or creates the graph's step count. Follows TensorFlow `tf.compat.v1.train.get_or_create_global_step`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { getOrCreateGlobalStep } = tf.compat.v1.train;
 * const same = new tf.Graph().asDefault(() => getOrCreateGlobalStep() === getOrCreateGlobalStep());
 * console.log(same); // true
 * ```
 */
export function getOrCreateGlobalStep(): Variable {
  return getGlobalStep() ?? createGlobalStep();
}
