/**
 * Segments: neighbouring kernels of one device in a plan. They are prepared once for each set of concrete input specs and then
 * run on bare buffers: no handles, look-ups or shape rules in between.
 * May import core and runtime files.
 */
import type { Device, DeviceBuffer, PreparedKernel } from "../core/device.ts";
import { NdArray } from "../core/nd_array.ts";
import { sameShape } from "../core/shape.ts";
import type { ConcreteSpec } from "../core/tensor_spec.ts";
import { traced, tracer } from "../core/trace.ts";
import { ofOp } from "./launch.ts";
import type { Plan, PlanStep } from "./plan.ts";
import { locatedAt } from "./run_errors.ts";
import { type Input, type Layout, layOut, type Output, type Work } from "./segment_layout.ts";
import { CONSTANT, type Slots } from "./slots.ts";
import { Storage } from "./storage.ts";
import { EagerTensor } from "./tensor.ts";

/** Sets of input specs a segment stays prepared for. */
const MEMORY = 8;
/** Steps in a segment, at most: one that cannot be prepared ends it, and what follows is looked at again. */
const MAX_STEPS = 256;

const segments = new WeakMap<Plan, (Segment | null)[]>();

/** The segments of a plan by their first steps, each looked for when a run comes by. */
export function segmentsOf(plan: Plan): (Segment | null)[] {
  let list = segments.get(plan);
  if (!list) segments.set(plan, list = []);
  return list;
}

/** Neighbouring steps that may run without handles in between. */
export class Segment {
  readonly #plan: Plan;
  readonly #steps: readonly PlanStep[];
  readonly #device: Device;
  /** Slots that are read and not made here, but for constants. */
  readonly #inputs: readonly number[];
  readonly #prepared: Prepared[] = [];

  /** The longest segment that begins with this step; null where there is none. */
  static at(plan: Plan, start: number): Segment | null {
    const { device } = plan.steps[start];
    const last = Math.min(plan.steps.length, start + MAX_STEPS);
    let end = start;
    while (end < last && plan.steps[end].device === device && isPlain(plan, plan.steps[end])) end++;
    return end === start ? null : new Segment(plan, plan.steps.slice(start, end));
  }

  private constructor(plan: Plan, steps: readonly PlanStep[]) {
    this.#plan = plan;
    this.#steps = steps;
    this.#device = steps[0].device;
    const made = new Set(steps.flatMap((s) => s.outputs));
    this.#inputs = [...new Set(steps.flatMap((s) => s.inputs))]
      .filter((slot) => !made.has(slot) && plan.kinds[slot] !== CONSTANT);
  }

  /** Runs as many of the steps as it can, from the first on, and returns their number: 0 where an input must be fetched first. */
  run(slots: Slots): number {
    const inputs: (EagerTensor | NdArray)[] = [];
    for (let i = 0; i < this.#inputs.length; i++) {
      const slot = this.#inputs[i];
      let v = slots.values[slot];
      if (!(v instanceof EagerTensor) || v.storage.device !== this.#device) {
        v = slots.tensor(slot, this.#device, true) as EagerTensor | NdArray;
        if (v instanceof EagerTensor && v.storage.device !== this.#device) return 0;
      }
      inputs.push(v);
    }
    if (slots.isReleased) return 0;
    for (const p of this.#prepared) if (p.fits(inputs)) return p.run(inputs, slots);
    const given = this.#inputs.map((slot, i) => ({ slot, value: inputs[i] }));
    const context = { plan: this.#plan, device: this.#device, slots };
    const prepared = traced(
      { name: "prepare", category: "plan", details: { steps: this.#steps.length } },
      () => new Prepared(layOut(this.#steps, given, context)),
    );
    if (this.#prepared.length === MEMORY) this.#prepared.pop();
    this.#prepared.unshift(prepared);
    return prepared.run(inputs, slots);
  }
}

/** True for steps that are kernels with nothing left to find out but specs. */
function isPlain(plan: Plan, { node, inputs, onHost }: PlanStep): boolean {
  return !node.def.host && inputs.every((slot, i) => !onHost[i] || plan.kinds[slot] === CONSTANT);
}

function runTraced(
  { node }: PlanStep,
  kernel: PreparedKernel,
  args: readonly (DeviceBuffer | undefined)[],
): DeviceBuffer[] {
  const details = { op: node.def.name, kernel: kernel.name };
  return traced({ name: node.name, category: "step", details }, () => kernel.run(args));
}

/** A segment for one set of input specs. */
class Prepared {
  readonly #device: Device;
  readonly #length: number;
  readonly #inputs: readonly Input[];
  readonly #work: readonly Work[];
  readonly #outputs: readonly Output[];
  /** Slots of the run that are read here and later, and how often here. */
  readonly #used: readonly (readonly [slot: number, uses: number])[];
  readonly #specs: readonly ConcreteSpec[];
  /** Constants hold their place; everything else is there while the segment runs. */
  readonly #buffers: DeviceBuffer[];

  constructor(parts: Layout) {
    ({
      device: this.#device,
      length: this.#length,
      inputs: this.#inputs,
      work: this.#work,
      outputs: this.#outputs,
      used: this.#used,
      specs: this.#specs,
      buffers: this.#buffers,
    } = parts);
  }

  /** True where it was prepared for such inputs. */
  fits(inputs: readonly (EagerTensor | NdArray)[]): boolean {
    for (let i = 0; i < inputs.length; i++) {
      const v = inputs[i], { spec, isArray } = this.#inputs[i];
      const shape = v instanceof NdArray ? v.shape : v.staticShape;
      if (
        v.dtype !== spec.dtype || (shape !== spec.shape && !sameShape(shape, spec.shape)) ||
        v instanceof NdArray !== isArray
      ) return false;
    }
    return true;
  }

  /** Runs it and returns how many steps that were. */
  run(inputs: readonly (EagerTensor | NdArray)[], slots: Slots): number {
    const buffers = this.#buffers, device = this.#device, work = this.#work;
    let done = 0;
    try {
      for (let i = 0; i < inputs.length; i++) {
        const { slot, isRead } = this.#inputs[i];
        const v = inputs[i];
        if (isRead) buffers[slot] = v instanceof EagerTensor ? v.storage.buffer : undefined;
      }
      for (let i = 0; i < inputs.length; i++) {
        const { slot, isArray, isRead } = this.#inputs[i];
        if (isArray && isRead) buffers[slot] = device.upload(inputs[i] as NdArray);
      }
      for (; done < work.length; done++) {
        const { step, kernel, from, args, to, frees, drops } = work[done];
        for (let i = 0; i < from.length; i++) if (from[i] >= 0) args[i] = buffers[from[i]];
        const made = tracer === null ? kernel.run(args) : runTraced(step, kernel, args);
        for (let i = 0; i < to.length; i++) buffers[to[i]] = made[i];
        for (let i = 0; i < frees.length; i++) {
          device.free(buffers[frees[i]], this.#specs[frees[i]]);
        }
        for (let i = 0; i < drops.length; i++) slots.drop(drops[i]);
      }
    } catch (e) {
      this.#free(done);
      const { step } = work[done];
      const specs = step.inputs.map((slot) => this.#specs[slot]);
      throw locatedAt(ofOp(e, step.node.def, specs), step.node);
    }
    this.#hand(inputs, slots);
    return this.#length;
  }

  /** Makes values of what is read later, and counts what was read. */
  #hand(inputs: readonly (EagerTensor | NdArray)[], slots: Slots): void {
    const device = this.#device, outputs = this.#outputs;
    for (let i = 0; i < outputs.length; i++) {
      const { slot, register, spec, uses, input, sibling } = outputs[i];
      const shared = sibling >= 0 ? slots.values[sibling] : input >= 0 ? inputs[input] : undefined;
      const t = shared instanceof EagerTensor
        ? new EagerTensor(spec.dtype, spec.shape, shared.storage.retain())
        : new EagerTensor(
          spec.dtype,
          spec.shape,
          new Storage(device, this.#buffers[register], this.#specs[register]),
        );
      slots.uses[slot] -= uses;
      slots.values[slot] = t;
    }
    for (const [slot, uses] of this.#used) slots.used(slot, uses);
  }

  /** Frees what the first `done` kernels left behind. */
  #free(done: number): void {
    const live = new Set<number>();
    for (const { slot, isArray, isRead } of this.#inputs) {
      if (isArray && isRead && this.#buffers[slot] !== undefined) live.add(slot);
    }
    for (const { to, frees } of this.#work.slice(0, done)) {
      for (const r of to) live.add(r);
      for (const r of frees) live.delete(r);
    }
    for (const r of live) this.#device.free(this.#buffers[r], this.#specs[r]);
  }
}
