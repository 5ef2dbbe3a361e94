/**
 * What only graphs of TensorFlow 1 have, written as version 2 writes it.
 */
import { hasControlFlowV1, raiseControlFlow } from "./control_flow_v1.ts";
import type { GraphDefJson } from "./graph_def.ts";
import { hasRefVariables, raiseRefVariables } from "./ref_variables.ts";

/** The graph with resource variables, If and While in place of references, switches and frames. Throws `ValueError` and `UnimplementedError` where it cannot be. */
export function raiseVersion1(def: GraphDefJson): GraphDefJson {
  const variables = hasRefVariables(def.node) ? raiseRefVariables(def) : def;
  return hasControlFlowV1(variables.node) ? raiseControlFlow(variables) : variables;
}
