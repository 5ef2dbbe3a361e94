/** Operations without results, in the graph that is being built. */
import type { OpInput } from "../../engine/core/apply.ts";
import type { Attrs, OpDef } from "../../engine/core/op.ts";
import { currentGraph } from "../../engine/graph/current_graph.ts";
import type { Operation } from "../../engine/graph/operation.ts";

/** Adds an operation to the graph that is being built; returns undefined in eager code. */
export function addToGraph(
  def: OpDef,
  inputs: readonly OpInput[],
  { attrs = {}, name }: { readonly attrs?: Attrs; readonly name?: string | undefined } = {},
): Operation | undefined {
  return currentGraph()?.addOp(def, inputs, attrs, { name });
}
