/** Tells the ops that write into arrays of TensorFlow 1 that an array grows: the array's own node says so, far from them. */
import type { GraphDefJson, NodeDefJson } from "../../engine/graph/graph_def_json.ts";

const WRITE = "TensorArrayWriteV3";

const grows = ({ op, attr }: NodeDefJson): boolean =>
  op === "TensorArrayV3" && attr?.dynamic_size?.b === true;

/** Returns the graph with `_grows` at each write, where any array of the graph grows. */
export function markGrowingArrays(def: GraphDefJson): GraphDefJson {
  const functions = def.library?.function ?? [];
  if (![def.node, ...functions.map((f) => f.nodeDef)].some((nodes) => nodes.some(grows))) {
    return def;
  }
  const marked = (nodes: readonly NodeDefJson[]): NodeDefJson[] =>
    nodes.map((n) => n.op === WRITE ? { ...n, attr: { ...n.attr, _grows: { b: true } } } : n);
  if (def.library === undefined) return { ...def, node: marked(def.node) };
  const bodies = functions.map((f) => ({ ...f, nodeDef: marked(f.nodeDef) }));
  return { ...def, node: marked(def.node), library: { ...def.library, function: bodies } };
}
