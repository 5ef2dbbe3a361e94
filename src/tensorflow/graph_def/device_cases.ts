/** Replaces a choice between functions for several devices by a call of that for CPUs; others may have kernels that are not here. */
import { sourceOf } from "./nodes.ts";
import type { GraphDefJson, NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import { text } from "./values.ts";

const CASE = /^(Stateless)?Case$/;

/** Returns the graph with a call in place of each Case over `DeviceIndex`. */
export function raiseDeviceCases(def: GraphDefJson): GraphDefJson {
  const functions = def.library?.function ?? [];
  const lists = [def.node, ...functions.map((f) => f.nodeDef)];
  if (!lists.some((nodes) => nodes.some(({ op }) => op === "DeviceIndex"))) return def;
  const raised = (nodes: readonly NodeDefJson[]): NodeDefJson[] => {
    const indices = new Map(nodes.filter((n) => n.op === "DeviceIndex").map((n) => [n.name, n]));
    return nodes.map((n) => {
      const [first, ...input] = n.input ?? [];
      const index = CASE.test(n.op) && first ? indices.get(sourceOf(first)) : undefined;
      return index === undefined ? n : callOf({ ...n, input }, index);
    });
  };
  if (def.library === undefined) return { ...def, node: raised(def.node) };
  const bodies = functions.map((f) => ({ ...f, nodeDef: raised(f.nodeDef) }));
  return { ...def, node: raised(def.node), library: { ...def.library, function: bodies } };
}

/** Returns the call of the branch for CPUs; the last one where the index names none, as Case runs it. */
function callOf(node: NodeDefJson, index: NodeDefJson): NodeDefJson {
  const { branches, Tin, Tout } = node.attr ?? {};
  const names = (index.attr?.device_names?.list?.s ?? []).map(text);
  const all = branches?.list?.func ?? [];
  const cpu = names.indexOf("CPU"), at = cpu < 0 || cpu >= all.length ? all.length - 1 : cpu;
  const op = node.op === "Case" ? "StatefulPartitionedCall" : "PartitionedCall";
  return { ...node, op, attr: { Tin: Tin!, Tout: Tout!, f: { func: all[at] } } };
}
