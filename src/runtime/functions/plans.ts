/**
 * FunctionPlans: the plans of a traced body, one for each device that is the default one and for each placing of what it takes.
 */
import type { Device } from "../../core/device.ts";
import { RecentMap } from "../../core/recent_map.ts";
import { traced } from "../../core/trace.ts";
import type { FuncGraph } from "../../graph/func_graph.ts";
import { buildIr, type IrGraph } from "../../graph/ir.ts";
import type { SymbolicTensor } from "../../graph/operation.ts";
import { runPasses } from "../../graph/passes/pipeline.ts";
import { defaultDevice, deviceGeneration } from "../devices.ts";
import { foldOrdinary } from "../plan/folder.ts";
import type { HostPlacing } from "../plan/place.ts";
import { checkPlacement, makePlan, type Plan } from "../plan/plan.ts";
import { releasePlan } from "../plan/slots.ts";

/** Plans that are kept: one for each device that is the default one now and then. */
const MOST_PLANS = 8;

/** The plans of one body. */
export class FunctionPlans {
  readonly #graph: FuncGraph;
  readonly #outputs: readonly SymbolicTensor[];
  readonly #known = new Map<HostPlacing | undefined, RecentMap<string, Plan>>();
  #generation = deviceGeneration();
  /** The plan asked for last: loops ask for the same one at every turn. */
  #last:
    | { readonly host: HostPlacing | undefined; readonly device: Device; readonly plan: Plan }
    | null = null;

  /** `outputs`: what the body returns. */
  constructor(graph: FuncGraph, outputs: readonly SymbolicTensor[]) {
    this.#graph = graph;
    this.#outputs = outputs;
  }

  /** What a run computes, before any pass. Feeds are the arguments, then what is captured. */
  ir(): IrGraph {
    return buildIr({
      fetches: this.#outputs,
      targets: this.#graph.effects,
      feeds: [...this.#graph.inputs, ...this.#graph.captures.map((c) => c.inner)],
    });
  }

  /** The plan for the default device in force. `host`: what is on the host, or is wanted there. */
  of(host?: HostPlacing): Plan {
    if (this.#generation !== deviceGeneration()) {
      this.release();
      this.#generation = deviceGeneration();
    }
    const device = defaultDevice(), last = this.#last;
    if (last !== null && last.host === host && last.device === device) return last.plan;
    let plans = this.#known.get(host);
    if (!plans) this.#known.set(host, plans = new RecentMap(MOST_PLANS, releasePlan));
    let plan = plans.get(device.name);
    if (!plan) {
      plan = traced({ name: "plan", category: "plan" }, () => this.#make(host));
      plans.set(device.name, plan);
    }
    this.#last = { host, device, plan };
    return plan;
  }

  /** Frees what the plans keep on devices. */
  release(): void {
    for (const plans of this.#known.values()) plans.clear();
    this.#known.clear();
    this.#last = null;
  }

  #make(host?: HostPlacing): Plan {
    const ir = this.ir();
    checkPlacement(ir, true);
    return makePlan(runPasses(foldOrdinary(ir), defaultDevice().type), { host });
  }
}
