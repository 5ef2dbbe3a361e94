/** Gradients by name, which operations of a graph may use in place of their own. */
import type { GraphNode } from "../core/graph_node.ts";
import { lookupOp } from "../core/op.ts";
import type { Tensor } from "../core/tensor.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";
import { AlreadyExistsError, LookupError } from "../core/errors.ts";

/** A gradient: computes the gradients of an operation's inputs from those of its outputs. */
export type RegisteredGradient = (
  op: GraphNode,
  ...grads: Tensor[]
) => readonly (Tensor | null)[] | Tensor | null;

const known = new Map<string, RegisteredGradient>();

/**
 * Registers a gradient under a name, for {@linkcode gradientOverrideMap}, and returns it. Follows TensorFlow
 * `tf.RegisterGradient`. Throws `AlreadyExistsError` for a name that another one has.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * tf.registerGradient("example/Straight", (_op, dy) => dy);
 * const graph = new tf.Graph();
 * const dx = graph.asDefault(() => {
 *   const x = tf.placeholder("float32", [], "x");
 *   const y = tf.gradientOverrideMap({ Round: "example/Straight" }, () => tf.round(x));
 *   return tf.gradients(y, x)[0]!;
 * });
 * console.log(await new tf.Session({ graph }).run(dx, { feeds: { "x:0": 1.2 } })); // 1
 * ```
 */
export function registerGradient<F extends RegisteredGradient>(name: string, gradient: F): F {
  const before = known.get(name);
  if (before && before !== gradient) {
    throw new AlreadyExistsError(`Registering two gradients with name '${name}'`);
  }
  if (typeof gradient !== "function") throw new TypeError("A gradient must be a function");
  known.set(name, gradient);
  return gradient;
}

/** Finds the gradient of a name. Throws `LookupError` where there is none. */
export function registeredGradient(name: string): RegisteredGradient {
  const found = known.get(name);
  if (found) return found;
  throw new LookupError(
    `gradient registry has no entry for: ${name}${
      lookupOp(name) ? ", the gradient of that op is part of it" : ""
    }`,
  );
}
