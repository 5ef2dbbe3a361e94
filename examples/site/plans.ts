/** Pictures of the graphs that a program runs and of the plans that are made of them: what was joined, where it runs, what is read. */

import * as tf from "@weft/weft";
import { svgOf } from "../../src/library/display/svg.ts";
import { type Drawing, drawing } from "../../src/library/display/placed.ts";
import { planDrawing } from "../../src/library/display/plan_drawing.ts";
import { type Plan, type PlanStep, planTrace } from "../../src/engine/runtime/plan/plan.ts";
import { planText } from "../../src/engine/runtime/debug.ts";
import type { Picture } from "./messages.ts";

/** Beyond these, a program's further plans, and nodes of one of them, are not drawn. */
const MOST_PLANS = 12, MOST_NODES = 400;

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
      ...pictures(drawing(graph, "toSvg", {})),
      text: tf.summary(graph),
    }));
  }

  /** The plans that were made of them. */
  plans(): Picture[] {
    return this.#plans.filter(({ steps }) => steps.length <= MOST_NODES).map((plan, i) => {
      const { nodes, edges } = planDrawing(plan);
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
        ...pictures({ nodes, edges }),
        text: planText(plan),
      };
    });
  }
}

function pictures(drawing: Drawing): Pick<Picture, "svg" | "drawing"> {
  return { svg: svgOf(drawing), drawing };
}

function graphOf({ node }: PlanStep): tf.Graph {
  return node.source.graph;
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}
