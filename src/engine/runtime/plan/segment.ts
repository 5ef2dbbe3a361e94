/**
 * Segments: neighbouring kernels of one device in a plan, with the reads and assignments of variables there. They are
 * prepared once for each set of concrete input specs and then run on bare buffers: no handles, look-ups or shape rules.
 */
import type { Device } from "../../core/device.ts";
import { remembered } from "../../core/collections/recent_map.ts";
import { NdArray } from "../../core/nd_array.ts";
import { AssignVariableOp } from "../variables/variable_ops.ts";
import { traced } from "../../core/trace.ts";
import type { Plan, PlanStep } from "./plan.ts";
import type { RunValue } from "../run/run_value.ts";
import { mayMove, Prepared, type Results } from "./prepared.ts";
import { layOut, variableOf } from "./segment_layout.ts";
import { followsShapes } from "./shape_values.ts";
import { CONSTANT, memoryOf, type PlanMemory, type Slots } from "./slots.ts";
import { isEager } from "../eager/tensor.ts";
import type { VariableState } from "../variables/variable_state.ts";

export type { Results } from "./prepared.ts";

/** Number of input specs that a segment stays prepared for. */
const MEMORY = 8;
/** Maximum number of steps in a segment; a step that cannot be prepared ends it. */
const MAX_STEPS = 1024;

/** The segments of a plan by their first steps, each found when a run gets there. */
export const segmentsOf: (plan: Plan) => (Segment | null)[] = remembered(() => []);

/** Neighbouring steps that can run without handles. */
export class Segment {
  readonly #plan: Plan;
  readonly #steps: readonly PlanStep[];
  readonly #device: Device;
  /** Slots that are read but not made here, without constants. */
  readonly #inputs: readonly number[];
  /** Number of reads of each input here, as far as the segment could be prepared. */
  #reads: readonly number[];
  /** Places of the inputs among the feeds; null where the plan is more than this segment. */
  readonly #feeds: readonly number[] | null;
  readonly #memory: PlanMemory;
  readonly #prepared: Prepared[] = [];

  /** The device of its kernels. */
  get device(): Device {
    return this.#device;
  }

  /** Returns the longest segment that begins with this step; null if there is none. */
  static at(plan: Plan, start: number, slots: Slots): Segment | null {
    const variableAt = (step: PlanStep): VariableState | undefined => variableOf(step, plan, slots);
    const shaped = new Set<number>(), made = new Set<number>();
    const isKnown = (slot: number): boolean => plan.kinds[slot] === CONSTANT || shaped.has(slot);
    const last = Math.min(plan.steps.length, start + MAX_STEPS);
    let end = start, kernels = 0, device: Device | undefined;
    for (; end < last; end++) {
      const step = plan.steps[end], state = variableAt(step);
      if (state === undefined && followsShapes(step, isKnown)) {
        // Whatever device it is for: the layout knows the result, or takes the kernel where it is the segment's.
        for (const slot of step.outputs) shaped.add(slot);
        kernels++;
      } else if (state === undefined) {
        if (!isPlain(step, isKnown) || step.device !== (device ?? step.device)) break;
        device = step.device;
        kernels++;
      } else if (step.node.def === AssignVariableOp) {
        // A value from elsewhere stays where it is.
        if (!made.has(step.inputs[1])) break;
      } else {
        const at = state.storage?.device;
        if (at === undefined || at !== (device ?? at)) break;
        device = at;
      }
      for (const slot of step.outputs) made.add(slot);
    }
    device ??= plan.steps[start].device;
    return kernels === 0 ? null : new Segment(plan, plan.steps.slice(start, end), device);
  }

  private constructor(plan: Plan, steps: readonly PlanStep[], device: Device) {
    this.#plan = plan;
    this.#steps = steps;
    this.#device = device;
    const made = new Set(steps.flatMap((s) => s.outputs));
    this.#inputs = [...new Set(steps.flatMap((s) => s.inputs))]
      .filter((slot) => !made.has(slot) && plan.kinds[slot] !== CONSTANT);
    this.#reads = readsOf(steps, this.#inputs);
    const feeds = new Map(plan.feeds.map((slot, i) => [slot, i]));
    this.#feeds = steps.length === plan.steps.length
      ? this.#inputs.map((slot) => feeds.get(slot)!)
      : null;
    this.#memory = memoryOf(plan);
  }

  /**
   * Runs the whole plan on feeds that stay the caller's; null where the plan is more than this segment, or the segment
   * is not prepared for them.
   */
  runAlone(feeds: readonly RunValue[]): Results | null {
    const at = this.#feeds;
    if (at === null || this.#memory.released) return null;
    const inputs: RunValue[] = [];
    for (let i = 0; i < at.length; i++) {
      const v = feeds[at[i]];
      if (isEager(v) && v.storage.device !== this.#device) return null;
      inputs.push(v);
    }
    for (const p of this.#prepared) if (p.fits(inputs, null)) return p.runAlone(inputs);
    return null;
  }

  /** Runs as many of the steps as it can and returns their number: 0 where an input must be fetched first. */
  run(slots: Slots): number {
    const inputs: RunValue[] = [];
    for (let i = 0; i < this.#inputs.length; i++) {
      const slot = this.#inputs[i];
      let v = slots.values[slot];
      // An array that only this segment reads needs no tensor.
      const isOurs = v instanceof NdArray
        ? slots.uses[slot] === this.#reads[i] && this.#device.supports(v.dtype)
        : isEager(v) && v.storage.device === this.#device;
      if (!isOurs) {
        v = slots.tensor(slot, this.#device, true) as RunValue;
        if (isEager(v) && v.storage.device !== this.#device) return 0;
      }
      inputs.push(v!);
    }
    if (slots.isReleased) return 0;
    for (const p of this.#prepared) if (p.fits(inputs, slots)) return p.run(inputs, slots);
    const given = this.#inputs.map((slot, i) => ({
      slot,
      value: inputs[i],
      isMovable: mayMove(inputs[i], slots.isOwn(slot)),
    }));
    const context = { plan: this.#plan, device: this.#device, slots };
    const prepared = traced(
      { name: "prepare", category: "plan", details: { steps: this.#steps.length } },
      () => new Prepared(layOut(this.#steps, given, context), this.#plan),
    );
    if (prepared.length < this.#steps.length) {
      this.#reads = readsOf(this.#steps.slice(0, prepared.length), this.#inputs);
    }
    if (this.#prepared.length === MEMORY) this.#prepared.pop()!.letGo(slots);
    this.#prepared.unshift(prepared);
    return prepared.run(inputs, slots);
  }
}

/** True for a kernel without state or unknown host inputs, which depends on the specs alone. */
function isPlain(
  { node, inputs, onHost }: PlanStep,
  isKnown: (slot: number) => boolean,
): boolean {
  return !node.def.host && !node.def.stateful &&
    inputs.every((slot, i) => !onHost[i] || isKnown(slot));
}

/** Counts the reads of each of these slots by the steps. */
function readsOf(steps: readonly PlanStep[], slots: readonly number[]): number[] {
  const counts = new Map<number, number>();
  for (const { inputs } of steps) {
    for (const slot of inputs) counts.set(slot, (counts.get(slot) ?? 0) + 1);
  }
  return slots.map((slot) => counts.get(slot) ?? 0);
}
