/** A model's variables: its floating-point initialisers, by name. */
import { DTYPES } from "../engine/core/dtype.ts";
import { type Variable, variable } from "../engine/runtime/variables/variable.ts";
import type { Lookup } from "./build/rule.ts";
import { Room } from "./file/tensor_data.ts";
import type { GraphNode, OnnxGraph } from "./file/graph.ts";

/** The uses of a constant by the nodes of a graph. */
interface Use {
  /** True where a node computes with it: it is a weight. */
  isWeight: boolean;
  /** True where a node must have it constant. */
  isFrozen: boolean;
}

/**
 * Makes a variable of each floating-point initialiser that nodes compute with. Scalars, and arguments such as the
 * scales of a Resize, stay constants.
 */
export async function makeVariables(
  graph: OnnxGraph,
  lookup: Lookup,
): Promise<Record<string, Variable>> {
  const uses = new Map<string, Use>();
  collectUses(graph, lookup, uses);
  const variables: Record<string, Variable> = {}, room = new Room();
  try {
    for (const [name, data] of graph.initialisers) {
      const use = uses.get(name);
      if (use?.isWeight !== true || data.packed !== null || data.shape.length === 0) continue;
      if (DTYPES[data.dtype].kind !== "float") continue;
      variables[name] = await data.lend(room, (array) => variable(array, !use.isFrozen));
    }
  } catch (e) {
    for (const v of Object.values(variables)) v.dispose();
    throw e;
  }
  return variables;
}

function collectUses(graph: OnnxGraph, lookup: Lookup, uses: Map<string, Use>): void {
  for (const node of graph.nodes) {
    noteUses(node, lookup, uses);
    for (const inner of Object.values(node.graphs)) collectUses(inner, lookup, uses);
  }
  for (const { name } of graph.outputs) useOf(name, uses).isWeight = true;
}

function noteUses(node: GraphNode, lookup: Lookup, uses: Map<string, Use>): void {
  const entry = lookup(node.domain, node.op, node.version);
  node.inputs.forEach((name, i) => {
    const use = useOf(name, uses);
    if (entry?.known?.includes(i) !== true) use.isWeight = true;
    if (entry?.frozen?.includes(i) === true) use.isFrozen = true;
  });
}

function useOf(name: string, uses: Map<string, Use>): Use {
  let use = uses.get(name);
  if (use === undefined) uses.set(name, use = { isWeight: false, isFrozen: false });
  return use;
}
