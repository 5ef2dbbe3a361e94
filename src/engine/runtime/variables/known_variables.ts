/**
 * The variables there are: those of eager code by name, those of graphs in collections.
 */
import { isTrainable } from "../../core/dtype.ts";
import { currentGraph, isFuncGraph, outermostGraph } from "../../graph/current_graph.ts";
import type { Variable } from "./variable.ts";
import type { VariableState } from "./variable_state.ts";

/** The collection of a graph's variables. Names of collections are TensorFlow's. */
export const GLOBAL_VARIABLES = "variables";
/** The collection of those that optimizers train. */
export const TRAINABLE_VARIABLES = "trainable_variables";
/** The collection of those that are not saved. */
export const LOCAL_VARIABLES = "local_variables";

/** Variables of eager code that were not disposed, by name. */
export const named: Map<string, Variable> = new Map();

/** The variables that belong to the graph being built, functions in it included. */
function ownVariables(): Variable[] {
  const graph = outermostGraph();
  if (graph === null) return [];
  const lists = [GLOBAL_VARIABLES, LOCAL_VARIABLES].map((c) => graph.getCollection(c));
  return [...new Set(lists.flat())] as Variable[];
}

/** True while a function is traced. */
export function isTracing(): boolean {
  const graph = currentGraph();
  return graph !== null && isFuncGraph(graph);
}

/** The variable of this name in the graph being built, else the eager one that was not disposed, or undefined. */
export function variableByName(name: string): Variable | undefined {
  return ownVariables().find((v) => v.name === name) ?? named.get(name);
}

/** The variables of eager code that were not disposed. */
export function eagerVariables(): Variable[] {
  return [...named.values()];
}

/** The resources of the variables that can be trained. */
export function trainableResources(): VariableState[] {
  return [...named.values(), ...ownVariables()]
    .filter((v) => v.trainable && isTrainable(v.dtype)).map((v) => v.resource);
}

/**
 * Disposes every variable. Follows TensorFlow.js `disposeVariables`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assert } from "@std/assert";
 * const v = tf.variable(1);
 * tf.disposeVariables();
 * assert(v.isDisposed);
 * ```
 */
export function disposeVariables(): void {
  for (const v of [...named.values()]) v.dispose();
}
