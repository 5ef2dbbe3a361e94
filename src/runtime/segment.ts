/**
 * Segments: neighbouring kernels of one device in a plan. They are prepared once for each set of concrete input specs and then
 * run on bare buffers: no handles, look-ups or shape rules in between.
 * May import core and runtime files.
 */
import type { Device, DeviceBuffer, PreparedKernel, Sequence } from "../core/device.ts";
import { NdArray } from "../core/nd_array.ts";
import { sameShape } from "../core/shape.ts";
import type { ConcreteSpec } from "../core/tensor_spec.ts";
import { traced, tracer } from "../core/trace.ts";
import { ofOp } from "./launch.ts";
import type { Plan, PlanStep } from "./plan.ts";
import { locatedAt } from "./run_errors.ts";
import { Results } from "./results.ts";
import type { RunValue } from "./run_value.ts";
import { type Input, type Layout, layOut, type Output, type Work } from "./segment_layout.ts";
import { CONSTANT, memoryOf, type PlanMemory, type Slots } from "./slots.ts";
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
  /** How often each input is read here, as far as it could be prepared. */
  #reads: readonly number[];
  /** Where the inputs are among the feeds; null where the plan is more than this segment. */
  readonly #feeds: readonly number[] | null;
  readonly #memory: PlanMemory;
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
    this.#reads = readsOf(steps, this.#inputs);
    this.#feeds = steps.length === plan.steps.length
      ? this.#inputs.map((slot) => plan.feeds.indexOf(slot))
      : null;
    this.#memory = memoryOf(plan);
  }

  /**
   * Runs the whole plan on feeds that stay the caller's; null where that takes more than this segment, or where it was not
   * prepared for them.
   */
  runAlone(feeds: readonly RunValue[]): Results | null {
    const at = this.#feeds;
    if (at === null || this.#memory.released) return null;
    const inputs: RunValue[] = [];
    for (let i = 0; i < at.length; i++) {
      const v = feeds[at[i]];
      if (v instanceof EagerTensor && v.storage.device !== this.#device) return null;
      inputs.push(v);
    }
    for (const p of this.#prepared) if (p.fits(inputs)) return p.runAlone(inputs);
    return null;
  }

  /** Runs as many of the steps as it can, from the first on, and returns their number: 0 where an input must be fetched first. */
  run(slots: Slots): number {
    const inputs: RunValue[] = [];
    for (let i = 0; i < this.#inputs.length; i++) {
      const slot = this.#inputs[i];
      let v = slots.values[slot];
      // An array that is read nowhere else needs no tensor.
      const isOurs = v instanceof NdArray && slots.uses[slot] === this.#reads[i] &&
        this.#device.supports(v.dtype);
      if (!isOurs && (!(v instanceof EagerTensor) || v.storage.device !== this.#device)) {
        v = slots.tensor(slot, this.#device, true) as RunValue;
        if (v instanceof EagerTensor && v.storage.device !== this.#device) return 0;
      }
      inputs.push(v!);
    }
    if (slots.isReleased) return 0;
    for (const p of this.#prepared) if (p.fits(inputs)) return p.run(inputs, slots);
    const given = this.#inputs.map((slot, i) => ({ slot, value: inputs[i] }));
    const context = { plan: this.#plan, device: this.#device, slots };
    const prepared = traced(
      { name: "prepare", category: "plan", details: { steps: this.#steps.length } },
      () => new Prepared(layOut(this.#steps, given, context), this.#plan),
    );
    if (prepared.length < this.#steps.length) {
      this.#reads = readsOf(this.#steps.slice(0, prepared.length), this.#inputs);
    }
    if (this.#prepared.length === MEMORY) this.#prepared.pop();
    this.#prepared.unshift(prepared);
    return prepared.run(inputs, slots);
  }
}

/** True for steps that are kernels with nothing left to find out but specs. */
function isPlain(plan: Plan, { node, inputs, onHost }: PlanStep): boolean {
  return !node.def.host && inputs.every((slot, i) => !onHost[i] || plan.kinds[slot] === CONSTANT);
}

/** How often the steps read each of these slots. */
function readsOf(steps: readonly PlanStep[], slots: readonly number[]): number[] {
  const inputs = steps.flatMap((s) => s.inputs);
  return slots.map((slot) => inputs.filter((s) => s === slot).length);
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
  /** How many steps it covers. */
  readonly length: number;
  readonly #inputs: readonly Input[];
  readonly #work: readonly Work[];
  readonly #outputs: readonly Output[];
  /** Slots of the run that are read here and later, and how often here. */
  readonly #used: readonly (readonly [slot: number, uses: number])[];
  readonly #specs: readonly ConcreteSpec[];
  /** Constants hold their place; everything else is there while the segment runs. */
  readonly #buffers: DeviceBuffer[];
  /** Remembers what the kernels did, where nothing else is run or uploaded. */
  readonly #sequence: Sequence | undefined;
  /** Outputs in the order of the plan's fetches, where that is all the plan computes; else null. */
  readonly #fetches: readonly Output[] | null;

  constructor(parts: Layout, plan: Plan) {
    ({
      device: this.#device,
      length: this.length,
      inputs: this.#inputs,
      work: this.#work,
      outputs: this.#outputs,
      used: this.#used,
      specs: this.#specs,
      buffers: this.#buffers,
    } = parts);
    this.#fetches = fetchesOf(parts, plan);
    // What is uploaded lies elsewhere each time.
    const isUploaded = this.#inputs.some((x) => x.isArray && x.isRead);
    this.#sequence = this.#fetches !== null && !isUploaded ? this.#device.sequence?.() : undefined;
  }

  /** True where it was prepared for such inputs. */
  fits(inputs: readonly RunValue[]): boolean {
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
  run(inputs: readonly RunValue[], slots: Slots): number {
    this.#compute(inputs, slots);
    this.#hand(inputs, slots);
    return this.length;
  }

  /** Runs it as all of its plan; null where it is not. The inputs stay the caller's. */
  runAlone(inputs: readonly RunValue[]): Results | null {
    const fetches = this.#fetches;
    if (fetches === null) return null;
    const compute = (): DeviceBuffer[] => {
      this.#compute(inputs, null);
      return fetches.map((f) => this.#buffers[f.register]);
    };
    return new Results(
      this.#device,
      this.#sequence?.(this.#given(inputs), compute) ?? compute(),
      fetches,
    );
  }

  /** What the kernels read of the inputs, where the sequence stands for them. */
  #given(inputs: readonly RunValue[]): DeviceBuffer[] {
    const given: DeviceBuffer[] = [];
    for (let i = 0; i < inputs.length; i++) {
      if (this.#inputs[i].isRead) given.push((inputs[i] as EagerTensor).storage.buffer);
    }
    return given;
  }

  /** Fills the registers that outputs have. `slots` hears what is read no more; null: the inputs are somebody else's. */
  #compute(inputs: readonly RunValue[], slots: Slots | null): void {
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
        if (slots !== null) { for (let i = 0; i < drops.length; i++) slots.drop(drops[i]); }
      }
    } catch (e) {
      this.#free(done);
      const { step } = work[done];
      const specs = step.inputs.map((slot) => this.#specs[slot]);
      throw locatedAt(ofOp(e, step.node.def, specs), step.node);
    }
  }

  /** Makes values of what is read later, and counts what was read. */
  #hand(inputs: readonly RunValue[], slots: Slots): void {
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

/** The outputs that are fetched, where nothing else of the plan is left and each has memory of its own. */
function fetchesOf({ length, outputs }: Layout, plan: Plan): readonly Output[] | null {
  if (length < plan.steps.length || new Set(plan.fetches).size < plan.fetches.length) return null;
  const found = plan.fetches.map((slot) => outputs.find((o) => o.slot === slot));
  return found.every((o): o is Output => o !== undefined && o.input < 0) &&
      found.length === outputs.length && outputs.every((o) => o.sibling < 0)
    ? found
    : null;
}
