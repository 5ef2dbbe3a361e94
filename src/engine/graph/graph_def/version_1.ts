/**
 * What only graphs of TensorFlow 1 have, written as version 2 writes it.
 */
import { hasControlFlowV1, raiseControlFlow } from "./control_flow_v1.ts";
import { raiseFunctionNodes } from "./function_nodes.ts";
import type { GraphDefJson } from "./graph_def.ts";
import { hasRefVariables, raiseRefVariables } from "./ref_variables.ts";

/** The graph with resource variables, If, Case, While and calls in place of references, switches, frames and functions as ops. Throws `ValueError` and `UnimplementedError` where it cannot be. */
export function raiseVersion1(def: GraphDefJson): GraphDefJson {
  const calls = raiseFunctionNodes(def);
  const variables = hasRefVariables(calls.node) ? raiseRefVariables(calls) : calls;
  return hasControlFlowV1(variables.node) ? raiseControlFlow(variables) : variables;
}
