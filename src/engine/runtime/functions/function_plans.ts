/**
 * Plans of a function's body, made when they are first asked for.
 */
import type { Device } from "../../core/device.ts";
import { RecentMap } from "../../core/recent_map.ts";
import { traced } from "../../core/trace.ts";
import { defaultDevice, deviceGeneration } from "../devices/devices.ts";
import type { HostPlacing } from "../plan/place.ts";
import type { Plan } from "../plan/plan.ts";
import { releasePlan } from "../plan/slots.ts";

/** Plans that are kept: one for each device that is the default one now and then. */
const MOST_PLANS = 8;

/** The plans of one body, for each default device and what is on the host. */
export class FunctionPlans {
  readonly #make: (host: HostPlacing | undefined) => Plan;
  readonly #plans = new Map<HostPlacing | undefined, RecentMap<string, Plan>>();
  #generation = deviceGeneration();
  /** The plan asked for last: loops ask for the same one at every turn. */
  #last: {
    readonly host: HostPlacing | undefined;
    readonly device: Device;
    readonly plan: Plan;
  } | null = null;

  constructor(make: (host: HostPlacing | undefined) => Plan) {
    this.#make = make;
  }

  /** The plan for the default device in force. `host`: what is on the host, or is wanted there. */
  get(host?: HostPlacing): Plan {
    if (this.#generation !== deviceGeneration()) this.release();
    const device = defaultDevice(), last = this.#last;
    if (last !== null && last.host === host && last.device === device) return last.plan;
    let plans = this.#plans.get(host);
    if (!plans) this.#plans.set(host, plans = new RecentMap(MOST_PLANS, releasePlan));
    let plan = plans.get(device.name);
    if (!plan) {
      plan = traced({ name: "plan", category: "plan" }, () => this.#make(host));
      plans.set(device.name, plan);
    }
    this.#last = { host, device, plan };
    return plan;
  }

  /** Frees what plans keep between runs. They are made anew when they are asked for. */
  release(): void {
    for (const plans of this.#plans.values()) plans.clear();
    this.#plans.clear();
    this.#last = null;
    this.#generation = deviceGeneration();
  }
}
