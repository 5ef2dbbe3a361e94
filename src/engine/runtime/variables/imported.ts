/** Adopts the variables of imported graphs: they belong to the importing graph. */
import { resourceOf } from "../../core/graph_node.ts";
import { FuncGraph } from "../../graph/func_graph.ts";
import type { Graph } from "../../graph/graph.ts";
import { VarHandleOp } from "./variable_ops.ts";
import { ownVariable } from "./variable.ts";
import type { VariableState } from "./variable_state.ts";

/**
 * Lists the variables among the operations from number `from` on that are not listed. Their first assignment is their
 * initializer.
 */
export function adoptVariables(graph: Graph, from: number): void {
  if (graph instanceof FuncGraph) return;
  for (const op of graph.operations.slice(from)) {
    if (op.def !== VarHandleOp) continue;
    const [handle] = op.outputs, state = resourceOf(handle) as VariableState;
    if (state.variable !== null || graph.variables.find(state)) continue;
    graph.variables.adopt(state, handle);
    // A handle of a variable that was a reference in the file stands beside the value that has the variable's name.
    const name = op.name.replace(/\/handle$/, "");
    const initializer = graph.findOperation(`${name}/Assign`) ?? null;
    ownVariable(state, { graph, handle, initializer });
  }
}
