/** Finds what differs between rows in a body, before it runs. */
import { effectsOf, isRead } from "../graph/effect_order.ts";
import { bodiesOf, type FuncGraph } from "../graph/func_graph.ts";
import type { Operation } from "../graph/operation.ts";

/** True where an op acts or draws random numbers, itself or in a function that it calls: each row does so by itself. */
export function acts(op: Operation): boolean {
  if (isRead(op) || op.type === "VarHandleOp") return false;
  if (effectsOf(op) !== "none") return true;
  const called = bodiesOf(op);
  return called.length > 0 ? called.some(actsInside) : op.def.stateful === true;
}

/** True where an op of a body acts. */
export function actsInside(graph: FuncGraph): boolean {
  return graph.operations.some(acts);
}

/** Returns which results of a body differ between rows, where these of its inputs and captures do. */
export function differing(
  graph: FuncGraph,
  inputs: readonly boolean[],
  captured: readonly boolean[],
): boolean[] {
  const differs = new Set<number>();
  graph.inputs.forEach((t, i) => inputs[i] && differs.add(t.id));
  graph.captures.forEach(({ inner }, i) => captured[i] && differs.add(inner.id));
  for (const op of graph.operations) {
    if (!op.inputs.some((t) => differs.has(t.id)) && !acts(op)) continue;
    for (const t of op.outputs) differs.add(t.id);
  }
  return graph.outputs.map((t) => differs.has(t.id));
}
