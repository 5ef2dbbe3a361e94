/** Namespace `tf.compat.v1.graphUtil`: pruned and frozen GraphDefs. */
import { wantList } from "../../engine/core/arguments.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { resourceOf } from "../../engine/core/graph_node.ts";
import { toNdArray } from "../../engine/core/convert.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import type { DType } from "../../engine/core/dtype.ts";
import type { GraphDefJson, NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import { freezeVariables } from "../graph_def/freeze.ts";
import { VarHandleOp } from "../../engine/runtime/variables/variable_ops.ts";
import type { Fetched } from "../../engine/runtime/run/requests.ts";
import type { Session } from "../../engine/runtime/session/session.ts";

const nameOf = (input: string): string => input.replace(/^\^/, "").split(":")[0];

/**
 * Keeps the nodes that `destNodes` depend on. Follows TensorFlow `tf.compat.v1.graph_util.extract_sub_graph`. Throws
 * `ValueError` for an unknown name.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const graph = new tf.Graph();
 * graph.asDefault(() => {
 *   const x = tf.placeholder("float32", [], "x");
 *   tf.nameScope("a", () => tf.square(x));
 *   tf.nameScope("b", () => tf.exp(x));
 * });
 * const part = tf.compat.v1.graphUtil.extractSubGraph(graph.toGraphDef(), ["b/Exp"]);
 * console.log(part.node.map(({ name }) => name)); // ["x", "b/Exp"]
 * ```
 */
export function extractSubGraph(def: GraphDefJson, destNodes: readonly string[]): GraphDefJson {
  wantList(def?.node, "def.node", "extractSubGraph", "nodes");
  wantList(destNodes, "destNodes", "extractSubGraph", "names");
  const byName = new Map<string, NodeDefJson>(def.node.map((n) => [n.name, n]));
  const kept = new Set<NodeDefJson>(), open = destNodes.map((name) => nameOf(String(name)));
  while (open.length > 0) {
    const name = open.pop()!, node = byName.get(name);
    if (!node) throw new ValueError(`${name} is not in graph`);
    if (kept.has(node)) continue;
    kept.add(node);
    open.push(...(node.input ?? []).map(nameOf));
  }
  return { ...def, node: def.node.filter((n) => kept.has(n)) };
}

/**
 * Freezes the part of a session's graph that some nodes depend on: a GraphDef with constants for the current values of
 * variables. Default the whole graph's definition. Follows TensorFlow
 * `tf.compat.v1.graph_util.convert_variables_to_constants`. Rejects with `ValueError` for an unknown name,
 * `FailedPreconditionError` for a variable without a value, `UnimplementedError` where something other than a read uses
 * one.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const graph = new tf.Graph();
 * const w = graph.asDefault(() => {
 *   const w = tf.variable([1, 2], true, "w");
 *   tf.nameScope("out", () => tf.mul(w, 10));
 *   return w;
 * });
 * const sess = new tf.Session({ graph });
 * await sess.run(w.initializer!);
 * const def = await tf.compat.v1.graphUtil.convertVariablesToConstants(sess, graph.toGraphDef(), ["out/Mul"]);
 * const frozen = new tf.Graph();
 * const [y] = frozen.asDefault(() => tf.importGraphDef(def, { prefix: "", returnElements: ["out/Mul:0"] })) as tf.Tensor[];
 * console.log((await new tf.Session({ graph: frozen }).run(y) as tf.NdArray).toArray()); // [10, 20]
 * ```
 */
export async function convertVariablesToConstants(
  session: Session,
  inputGraphDef: GraphDefJson,
  outputNodeNames: readonly string[],
): Promise<GraphDefJson> {
  const def = extractSubGraph(inputGraphDef, outputNodeNames);
  const handles = def.node.filter((n) => n.op === VarHandleOp.name).map((n) => n.name);
  const { graph } = session;
  const reads = handles.map((name) => {
    const resource = resourceOf(graph.getOperationByName(name).outputs[0])!;
    return graph.variables.snapshot(resource);
  });
  const values = new Map<string, NdArray>();
  const found = await session.run(reads);
  found.forEach((v, i) => values.set(handles[i], arrayOf(v, reads[i].dtype)));
  return freezeVariables(def, values);
}

function arrayOf(value: Fetched, dtype: DType): NdArray {
  return value instanceof NdArray ? value : toNdArray(value as number, { dtype });
}
