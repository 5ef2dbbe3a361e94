/** Registers of variables: those of eager code by name, those of graphs in collections. */
import { isTrainable } from "../../core/dtype.ts";
import { currentGraph, isFuncGraph, outermostGraph } from "../../graph/current_graph.ts";
import type { Variable } from "./variable.ts";
import type { VariableState } from "./variable_state.ts";

/** Collection of a graph's variables. Names of collections are TensorFlow's. */
export const GLOBAL_VARIABLES = "variables";
/** Collection of trainable variables. */
export const TRAINABLE_VARIABLES = "trainable_variables";
/** Collection of variables that are not saved. */
export const LOCAL_VARIABLES = "local_variables";

/** Live variables of eager code, by name. */
export const named: Map<string, Variable> = new Map();

/** Returns the variables of the graph being built, including its functions. */
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

/** Returns the variable of this name in the graph being built, else the live eager one, or undefined. */
export function variableByName(name: string): Variable | undefined {
  return ownVariables().find((v) => v.name === name) ?? named.get(name);
}

/** Returns the live variables of eager code. */
export function eagerVariables(): Variable[] {
  return [...named.values()];
}

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
 * const v = tf.variable(1);
 * tf.disposeVariables();
 * console.log(v.isDisposed); // true
 * ```
 */
export function disposeVariables(): void {
  for (const v of [...named.values()]) v.dispose();
}
