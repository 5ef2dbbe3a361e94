/** Pictures of the graphs that a program runs and of the plans that are made of them: what was joined, where it runs, what is read. */

import * as tf from "@weft/weft";
import { fusionOf } from "../../src/core/fusion.ts";
import type { Expr } from "../../src/core/scalar/expr.ts";
import { svgOf } from "../../src/display/draw.ts";
import type { DrawnEdge, DrawnNode } from "../../src/display/placed.ts";
import { type Plan, type PlanStep, planTrace } from "../../src/runtime/plan/plan.ts";
import { planText } from "../../src/runtime/plan/plan_text.ts";
import type { Picture } from "./messages.ts";

/** Beyond these, a program's further plans, and nodes of one of them, are not drawn. */
const MOST_PLANS = 12, MOST_NODES = 400;

/** Letters that a box has room for. */
const MOST_LETTERS = 20;

/** Listens to plans being made, until the worker ends. */
export class PlanWatch {
  readonly #plans: Plan[] = [];

  constructor() {
    planTrace.print = (plan) => {
      if (plan.steps.length > 0 && this.#plans.length < MOST_PLANS) this.#plans.push(plan);
    };
  }

  /** The graphs that were run, as they were written. */
  graphs(): Picture[] {
    const graphs = new Set(this.#plans.flatMap(({ steps }) => steps.map((s) => graphOf(s))));
    return [...graphs].filter((g) => g.operations.length <= MOST_NODES).map((graph, i) => ({
      title: `Graph ${i + 1}: ${count(graph.operations.length, "operation")}`,
      svg: tf.toSvg(graph),
      text: tf.summary(graph),
    }));
  }

  /** The plans that were made of them. */
  plans(): Picture[] {
    return this.#plans.filter(({ steps }) => steps.length <= MOST_NODES).map((plan, i) => {
      const { nodes, edges } = drawn(plan);
      const gpu = plan.steps.filter(({ device }) => device.type === "GPU").length;
      const scripts = nodes.filter(({ script }) => script).length;
      const reads = edges.filter(({ kind }) => kind === "readback").length;
      const parts = [
        count(plan.steps.length, "step"),
        gpu > 0 ? `${gpu} on the GPU` : "all on the CPU",
        ...(scripts > 0 ? [count(scripts, "script")] : []),
        ...(reads > 0 ? [`${count(reads, "value")} read back`] : []),
      ];
      return {
        title: `Plan ${i + 1}: ${parts.join(", ")}`,
        svg: svgOf({ nodes, edges }),
        text: planText(plan),
      };
    });
  }
}

function graphOf({ node }: PlanStep): tf.Graph {
  return node.source.graph;
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}

/** The primitives of expressions, in the order in which they are computed. */
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

/** Parts with a dot between; where a box has no room for all, the first and the last. */
function labelOf(parts: readonly string[]): string {
  const all = parts.join("·");
  return all.length <= MOST_LETTERS ? all : `${parts[0]}·…·${parts.at(-1)}`;
}

/** A step's box: its op or its script's function, and what was joined with it. */
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

/** A plan as nodes and edges: what is fed and known, the steps, and what is returned. */
function drawn(plan: Plan): { nodes: DrawnNode[]; edges: DrawnEdge[] } {
  const nodes: DrawnNode[] = [], edges: DrawnEdge[] = [];
  const makers = new Map<number, number>();
  const given = (slot: number, label: string, name: string): void => {
    makers.set(slot, nodes.length);
    nodes.push({ name, label, script: false, device: "CPU" });
  };
  plan.feeds.forEach((slot, i) => given(slot, "input", `feed ${i}`));
  for (const { slot, value } of plan.constants) {
    if (plan.uses[slot] === 0) continue;
    const label = value instanceof tf.NdArray ? "constant" : "variable";
    given(slot, label, `${value.dtype}[${value.shape}]`);
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
    nodes.push(boxOf(step));
    join(step.inputs, at);
    for (const slot of step.outputs) makers.set(slot, at);
  }
  if (plan.fetches.length > 0) {
    nodes.push({
      name: count(plan.fetches.length, "value"),
      label: "result",
      script: false,
      device: "CPU",
    });
    join(plan.fetches, nodes.length - 1);
  }
  return { nodes, edges };
}
