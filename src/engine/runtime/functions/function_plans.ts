/** Plans of a function's body, made on first use. */
import type { Device } from "../../core/device.ts";
import { RecentMap } from "../../core/collections/recent_map.ts";
import { traced } from "../../core/trace.ts";
import { defaultDevice, deviceGeneration } from "../devices/devices.ts";
import type { HostPlacing } from "../plan/place.ts";
import type { Plan } from "../plan/plan.ts";
import { releasePlan } from "../plan/slots.ts";

/** Number of plans kept: one for each device that is the default at times. */
const MOST_PLANS = 8;

/** The plans of one body, by default device and host values. */
export class FunctionPlans {
  readonly #make: (host: HostPlacing | undefined) => Plan;
  readonly #plans = new Map<HostPlacing | undefined, RecentMap<string, Plan>>();
  #generation = deviceGeneration();
  /** The plan used last: loops use the same one at every turn. */
  #last: {
    readonly host: HostPlacing | undefined;
    readonly device: Device;
    readonly plan: Plan;
  } | null = null;

  constructor(make: (host: HostPlacing | undefined) => Plan) {
    this.#make = make;
  }

  /** Returns the plan for the default device. `host`: values that are on the host, or wanted there. */
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

  /** Frees the memory of plans between runs. They are made anew on the next use. */
  release(): void {
    for (const plans of this.#plans.values()) plans.clear();
    this.#plans.clear();
    this.#last = null;
    this.#generation = deviceGeneration();
  }
}
