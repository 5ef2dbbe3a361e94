/** Converts features of TensorFlow 1 graphs to those of version 2. */
import { hasControlFlowV1, raiseControlFlow } from "./control_flow_v1.ts";
import { raiseDeviceCases } from "./device_cases.ts";
import { raiseFunctionNodes } from "./function_nodes.ts";
import { markGrowingArrays } from "./growing_arrays.ts";
import type { GraphDefJson } from "../../engine/graph/graph_def_json.ts";
import { hasRefVariables, raiseRefVariables } from "./ref_variables.ts";

/**
 * Returns the graph with resource variables, If, Case, While and calls in place of references, switches, frames and
 * functions as ops. Throws `ValueError` and `UnimplementedError` for graphs that cannot be converted.
 */
export function raiseVersion1(def: GraphDefJson): GraphDefJson {
  const calls = markGrowingArrays(raiseDeviceCases(raiseFunctionNodes(def)));
  const variables = hasRefVariables(calls.node) ? raiseRefVariables(calls) : calls;
  return hasControlFlowV1(variables.node) ? raiseControlFlow(variables) : variables;
}
