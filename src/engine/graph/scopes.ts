/** Scope functions for users: names, control dependencies, colocation. In eager mode they just run the function. */
import { wantFunction } from "../core/arguments.ts";
import type { Tensor } from "../core/tensor.ts";
import { currentGraph } from "./current_graph.ts";
import type { Operation } from "./operation.ts";

/**
 * Prefixes the names of operations made inside; `fn` gets the full prefix. Follows TensorFlow `tf.name_scope`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const y = new tf.Graph().asDefault(() => tf.nameScope("dense", () => tf.neg(1)));
 * console.log(y.name); // dense/Neg:0
 * ```
 */
export function nameScope<R>(name: string | null, fn: (scope: string) => R): R {
  wantFunction(fn, "fn", "nameScope");
  const graph = currentGraph();
  return graph ? graph.nameScope(name, fn) : fn("");
}

/**
 * Makes the operations inside run after `controls`; null clears the dependencies in force. Follows TensorFlow
 * `tf.control_dependencies`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const g = new tf.Graph();
 * const b = g.asDefault(() => {
 *   const a = tf.placeholder("float32", [], "a");
 *   return tf.controlDependencies([a], () => tf.placeholder("float32", [], "b"));
 * });
 * console.log(b.op.controlInputs.map((o) => o.name)); // ["a"]
 * ```
 */
export function controlDependencies<R>(
  controls: readonly (Operation | Tensor)[] | null,
  fn: () => R,
): R {
  wantFunction(fn, "fn", "controlDependencies");
  const graph = currentGraph();
  return graph ? graph.controlDependencies(controls, fn) : fn();
}

/**
 * Places the operations made inside on the device of `op`. Follows TensorFlow `tf.colocate_with`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const g = new tf.Graph();
 * const y = g.asDefault(() => {
 *   const x = tf.device("/CPU:0", () => tf.placeholder("float32", [], "x"));
 *   return tf.colocateWith(x, () => tf.neg(x));
 * });
 * console.log(y.device); // /device:CPU:0
 * ```
 */
export function colocateWith<R>(op: Operation | Tensor, fn: () => R): R {
  wantFunction(fn, "fn", "colocateWith");
  const graph = currentGraph();
  return graph ? graph.colocateWith(op, fn) : fn();
}

/**
 * Gives the operations made inside, by type, the gradient registered under the mapped name. Follows TensorFlow
 * `tf.Graph.gradient_override_map`; see `tf.registerGradient`. In eager mode it just runs `fn`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * tf.registerGradient("example/Double", (_op, dy) => tf.mul(dy, 2));
 * const graph = new tf.Graph();
 * const dx = graph.asDefault(() => {
 *   const x = tf.placeholder("float32", [], "x");
 *   return tf.gradients(tf.gradientOverrideMap({ Identity: "example/Double" }, () => tf.identity(x)), x)[0]!;
 * });
 * console.log(await new tf.Session({ graph }).run(dx, { feeds: { "x:0": 1 } })); // 2
 * ```
 */
export function gradientOverrideMap<R>(map: Readonly<Record<string, string>>, fn: () => R): R {
  wantFunction(fn, "fn", "gradientOverrideMap");
  const graph = currentGraph();
  return graph ? graph.gradientOverrideMap(map, fn) : fn();
}
