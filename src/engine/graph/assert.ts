/** Assert: a check at run time of a graph. */
import { wantList } from "../core/arguments.ts";
import { apply } from "../core/apply.ts";
import { toNdArray } from "../core/convert.ts";
import { lookupOp } from "../core/op.ts";
import { Tensor, type TensorLike } from "../core/tensor.ts";
import { currentGraph } from "./current_graph.ts";
import type { Operation } from "./operation.ts";

/**
 * Fails if `condition` is false at run time; the error shows the first `summarize` values (default 3, -1 for all) of
 * each tensor in `data`. Returns the operation in a graph, null in eager mode. TensorFlow op `Assert`. Throws
 * `InvalidArgumentError`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.scalar(-1);
 * try {
 *   tf.Assert(tf.greater(x, 0), ["x is", x]);
 * } catch (error) {
 *   console.log((error as Error).message); // …[x is] [-1]…
 * }
 * ```
 */
export function Assert(
  condition: TensorLike,
  data: readonly TensorLike[],
  summarize = 3,
): Operation | null {
  wantList(data, "data", "Assert");
  const inputs = [
    condition instanceof Tensor ? condition.asOpInput() : toNdArray(condition, { dtype: "bool" }),
    ...data.map((d) => d instanceof Tensor ? d.asOpInput() : toNdArray(d)),
  ];
  const def = lookupOp("Assert")!;
  const attrs = { T: inputs.slice(1).map((x) => x.dtype), summarize };
  const graph = currentGraph();
  if (graph !== null) return graph.addOp(def, inputs, attrs);
  apply(def, inputs, attrs);
  return null;
}
