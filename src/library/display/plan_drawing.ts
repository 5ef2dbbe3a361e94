/** A plan as pictures need it: fed and known values, steps with the nodes fused into each, and results. */
import { fusionOf } from "../../engine/core/fusion.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import type { Expr } from "../../engine/core/scalar/expr.ts";
import { shapeText } from "../../engine/core/shape.ts";
import type { Graph } from "../../engine/graph/graph.ts";
import { buildIr } from "../../engine/graph/ir.ts";
import type { Operation, SymbolicTensor } from "../../engine/graph/operation.ts";
import { runPasses } from "../../engine/graph/passes/pipeline.ts";
import { defaultDevice } from "../../engine/runtime/devices/devices.ts";
import { foldOrdinary } from "../../engine/runtime/plan/folder.ts";
import { makePlan, type Plan, type PlanStep } from "../../engine/runtime/plan/make_plan.ts";
import { releasePlan } from "../../engine/runtime/plan/slots.ts";
import { arrayLabel } from "./array_label.ts";
import type { Drawing, DrawnEdge, DrawnNode } from "./placed.ts";

/** Most letters of a box. */
const MOST_LETTERS = 20;

/** Lists the primitives of expressions, in the order in which they are computed. */
function primitives(exprs: readonly Expr[]): string[] {
  const seen = new Set<Expr>();
  const names: string[] = [];
  const visit = (e: Expr): void => {
    if (seen.has(e)) return;
    seen.add(e);
    e.args.forEach(visit);
    if (!["arg", "const", "keep"].includes(e.op)) names.push(e.op);
  };
  exprs.forEach(visit);
  return names;
}

/** Joins parts by a dot; too long a label keeps the first and the last. */
function labelOf(parts: readonly string[]): string {
  const all = parts.join("·");
  return all.length <= MOST_LETTERS ? all : `${parts[0]}·…·${parts.at(-1)}`;
}

/** Draws a step: its op or its script's function, and the nodes fused with it. */
function boxOf({ node, device }: PlanStep): DrawnNode {
  const { attrs, def } = node;
  const script = (attrs._script as { func?: { name?: string } } | undefined)?.func;
  const type = device.type as DrawnNode["device"];
  if (script) {
    const name = script.name || "script";
    return { name: node.name, label: `${name}()`, script: true, device: "CPU" };
  }
  const { prologue, epilogue } = fusionOf(attrs) ?? {};
  const parts = Array.isArray(attrs.exprs) ? primitives(attrs.exprs as Expr[]) : [
    ...(prologue ? primitives([prologue.expr]) : []),
    def.name,
    ...(epilogue ? primitives([epilogue.expr]) : []),
  ];
  const box = { name: node.name, label: labelOf(parts), script: false, device: type };
  return parts.length > 1 ? { ...box, about: `joined ${parts.join("·")}` } : box;
}

/** Draws a plan: fed and known values, the steps, and the results. */
export function planDrawing(plan: Plan): Drawing {
  const nodes: DrawnNode[] = [], edges: DrawnEdge[] = [];
  const makers = new Map<number, number>();
  const given = (slot: number, label: string, name: string): void => {
    makers.set(slot, nodes.length);
    nodes.push({ name, label, script: false, device: "CPU" });
  };
  plan.feeds.forEach((slot, i) => given(slot, "input", `feed ${i}`));
  const constants = new Map<number, string>();
  for (const { slot, value } of plan.constants) {
    if (plan.uses[slot] === 0) continue;
    if (value instanceof NdArray && !plan.fetches.includes(slot)) {
      constants.set(slot, arrayLabel(value));
    } else given(slot, "variable", `$${slot} ${value.dtype}${shapeText(value.shape)}`);
  }
  const join = (slots: readonly number[], to: number): void => {
    for (const from of new Set(slots.map((s) => makers.get(s)))) {
      if (from === undefined) continue;
      const isRead = nodes[from].device === "GPU" && nodes[to].device === "CPU";
      edges.push({ from, to, kind: isRead ? "readback" : "data" });
    }
  };
  for (const step of plan.steps) {
    const at = nodes.length;
    const box = boxOf(step);
    const read = step.inputs.flatMap((slot) => constants.get(slot) ?? []);
    nodes.push({ ...box, label: [box.label, ...read].join(" ") });
    join(step.inputs, at);
    for (const slot of step.outputs) makers.set(slot, at);
  }
  if (plan.fetches.length > 0) {
    const { length } = plan.fetches;
    const name = `${length} value${length === 1 ? "" : "s"}`;
    nodes.push({ name, label: "result", script: false, device: "CPU" });
    join(plan.fetches, nodes.length - 1);
  }
  return { nodes, edges };
}

/** Draws the plan by which a session would compute all unread outputs, after all passes. */
export function runDrawing(graph: Graph, feeds: readonly SymbolicTensor[]): Drawing {
  const { operations } = graph;
  const isInput = (op: Operation): boolean => op.def.meaning.kind === "input";
  const fed = feeds.length > 0 ? feeds : operations.filter(isInput).map((op) => op.outputs[0]);
  const read = new Set(operations.flatMap((op) => op.inputs));
  const ends = operations.filter((op) =>
    !fed.some((t) => t.operation === op) && !op.outputs.some((t) => read.has(t))
  );
  const isValue = ({ dtype }: SymbolicTensor): boolean =>
    dtype !== "resource" && dtype !== "variant";
  const ir = buildIr({
    fetches: ends.flatMap((op) => op.outputs.filter(isValue)),
    targets: ends.filter((op) => op.outputs.length === 0),
    feeds: fed,
  });
  const plan = makePlan(runPasses(foldOrdinary(ir), defaultDevice().type));
  const drawing = planDrawing(plan);
  releasePlan(plan);
  return drawing;
}
