/** Collections of the graph that is being built. */
import { RuntimeError } from "../../engine/core/errors.ts";
import { FuncGraph } from "../../engine/graph/func_graph.ts";
import { currentGraph } from "../../engine/graph/current_graph.ts";
import type { Graph } from "../../engine/graph/graph.ts";
import {
  GLOBAL_VARIABLES,
  LOCAL_VARIABLES,
  TRAINABLE_VARIABLES,
} from "../../engine/runtime/variables/known_variables.ts";

/** Names of TensorFlow's collections. Follows `tf.compat.v1.GraphKeys`. */
export const GraphKeys: {
  /** Variables that are saved and shared. */
  readonly GLOBAL_VARIABLES: string;
  /** Variables that are not saved. */
  readonly LOCAL_VARIABLES: string;
  /** Local variables in which metrics count. */
  readonly METRIC_VARIABLES: string;
  /** Variables that optimizers train. */
  readonly TRAINABLE_VARIABLES: string;
  /** Variables of which moving averages are kept. */
  readonly MOVING_AVERAGE_VARIABLES: string;
  /** Losses of regularizers. */
  readonly REGULARIZATION_LOSSES: string;
  /** Losses. */
  readonly LOSSES: string;
  /** Operations to run with each step. */
  readonly UPDATE_OPS: string;
  /** The step count. */
  readonly GLOBAL_STEP: string;
  /** Operations that fill tables. */
  readonly TABLE_INITIALIZERS: string;
} = {
  GLOBAL_VARIABLES,
  LOCAL_VARIABLES,
  METRIC_VARIABLES: "metric_variables",
  TRAINABLE_VARIABLES,
  MOVING_AVERAGE_VARIABLES: "moving_average_variables",
  REGULARIZATION_LOSSES: "regularization_losses",
  LOSSES: "losses",
  UPDATE_OPS: "update_ops",
  GLOBAL_STEP: "global_step",
  TABLE_INITIALIZERS: "table_initializer",
};

/**
 * Returns the graph being built, outside of functions in it. Throws `RuntimeError` in eager mode and in `tf.function`.
 */
export function graphFor(what: string): Graph {
  let graph = currentGraph();
  while (graph instanceof FuncGraph) graph = graph.outer;
  if (graph !== null) return graph;
  throw new RuntimeError(
    `${what} is not supported when eager execution is enabled: call it inside graph.asDefault(), before the first await`,
  );
}

/**
 * Returns the graph being built. Follows TensorFlow `tf.compat.v1.get_default_graph`. Throws `RuntimeError` where there
 * is none.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const g = new tf.Graph();
 * console.log(g.asDefault(() => tf.compat.v1.getDefaultGraph()) === g); // true
 * ```
 */
export function getDefaultGraph(): Graph {
  return graphFor("getDefaultGraph()");
}

/**
 * Adds a value to a collection of the graph. Follows TensorFlow `tf.compat.v1.add_to_collection`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { addToCollection, getCollection } = tf.compat.v1;
 * new tf.Graph().asDefault(() => {
 *   addToCollection("sizes", 3);
 *   console.log(getCollection("sizes")); // [3]
 * });
 * ```
 */
export function addToCollection(name: string, value: unknown): void {
  graphFor("addToCollection()").addToCollection(name, value);
}

/**
 * Returns the values of a collection, or those whose names begin with `scope`. Follows TensorFlow
 * `tf.compat.v1.get_collection`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { addToCollection, getCollection } = tf.compat.v1;
 * new tf.Graph().asDefault(() => {
 *   addToCollection("sizes", 3);
 *   console.log(getCollection("sizes"), getCollection("others")); // [3] []
 * });
 * ```
 */
export function getCollection(name: string, scope?: string): unknown[] {
  return graphFor("getCollection()").getCollection(name, scope);
}

/**
 * Returns the list of a collection itself, which may be changed. Follows TensorFlow `tf.compat.v1.get_collection_ref`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { getCollection, getCollectionRef } = tf.compat.v1;
 * new tf.Graph().asDefault(() => {
 *   getCollectionRef("sizes").push(3);
 *   console.log(getCollection("sizes")); // [3]
 * });
 * ```
 */
export function getCollectionRef(name: string): unknown[] {
  return graphFor("getCollectionRef()").collections.list(name);
}
