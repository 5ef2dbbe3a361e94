/**
 * Segments: neighbouring kernels of one device in a plan, with the reads and assignments of variables that live there. They are
 * prepared once for each set of concrete input specs and then run on bare buffers: no handles, look-ups or shape rules in between.
 */
import {
  type BufferRead,
  type Device,
  type DeviceBuffer,
  type PreparedKernel,
  readNow,
  type Sequence,
} from "../../core/device.ts";
import { ending } from "../../core/nest.ts";
import { remembered } from "../../core/recent_map.ts";
import { NdArray } from "../../core/nd_array.ts";
import { AssignVariableOp } from "../variables/variable_ops.ts";
import { bytesOf } from "../../core/dtype.ts";
import { sameShape, sizeOf } from "../../core/shape.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { traced, tracer } from "../../core/trace.ts";
import { ofOp } from "../eager/launch.ts";
import type { Plan, PlanStep } from "./plan.ts";
import { locatedAt } from "../run/run_errors.ts";
import type { RunValue } from "../run/run_value.ts";
import type { Layout, Output, Owner, VariableForm } from "./layout.ts";
import { isLoaded, layOut, variableOf } from "./segment_layout.ts";
import { CONSTANT, memoryOf, type PlanMemory, type Slots } from "./slots.ts";
import { Storage } from "../eager/storage.ts";
import { EagerTensor } from "../eager/tensor.ts";
import type { VariableState } from "../variables/variable_state.ts";

/** Sets of input specs a segment stays prepared for. */
const MEMORY = 8;
/** Steps in a segment, at most: one that cannot be prepared ends it, and what follows is looked at again. */
const MAX_STEPS = 1024;

/** The segments of a plan by their first steps, each looked for when a run comes by. */
export const segmentsOf: (plan: Plan) => (Segment | null)[] = remembered(() => []);

/** What a plan computed that is one segment: each result has memory of its own. Whoever gets them calls one of the methods, once. */
export class Results {
  readonly #device: Device;
  readonly #reads: readonly BufferRead[];

  constructor(device: Device, reads: readonly BufferRead[]) {
    this.#device = device;
    this.#reads = reads;
  }

  /** Tensors, which belong to the scope in force. */
  tensors(): EagerTensor[] {
    return this.#reads.map(({ buffer, spec }) =>
      new EagerTensor(spec.dtype, spec.shape, new Storage(this.#device, buffer, spec))
    );
  }

  /** Host arrays, read in one copy. */
  arrays(): NdArray[] | Promise<NdArray[]> {
    const device = this.#device, reads = this.#reads;
    return ending(
      () => readNow(device, reads),
      () => reads.forEach(({ buffer, spec }) => device.free(buffer, spec)),
    );
  }
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
  static at(plan: Plan, start: number, slots: Slots): Segment | null {
    const variableAt = (step: PlanStep): VariableState | undefined => variableOf(step, plan, slots);
    const first = plan.steps[start], read = variableAt(first);
    const device = read === undefined ? first.device : read.storage?.device;
    if (device === undefined) return null;
    const made = new Set<number>();
    const last = Math.min(plan.steps.length, start + MAX_STEPS);
    let end = start, kernels = 0;
    for (; end < last; end++) {
      const step = plan.steps[end], state = variableAt(step);
      if (state === undefined) {
        if (step.device !== device || !isPlain(plan, step)) break;
        kernels++;
      } else if (step.node.def === AssignVariableOp) {
        // What comes from elsewhere stays where it is.
        if (!made.has(step.inputs[1])) break;
      } else if (state.storage?.device !== device) break;
      for (const slot of step.outputs) made.add(slot);
    }
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

/** True for steps that are kernels with nothing left to find out but specs, and that give the same at each run. */
function isPlain(plan: Plan, { node, inputs, onHost }: PlanStep): boolean {
  return !node.def.host && !node.def.stateful &&
    inputs.every((slot, i) => !onHost[i] || plan.kinds[slot] === CONSTANT);
}

/** How often the steps read each of these slots. */
function readsOf(steps: readonly PlanStep[], slots: readonly number[]): number[] {
  const counts = new Map<number, number>();
  for (const { inputs } of steps) {
    for (const slot of inputs) counts.set(slot, (counts.get(slot) ?? 0) + 1);
  }
  return slots.map((slot) => counts.get(slot) ?? 0);
}

/** A variable's value as a kernel wants it, where the value is still what it was at the last run. */
function keptForm(wanted: VariableForm): DeviceBuffer | undefined {
  const { state, form, version } = wanted;
  if (version === state.version) return state.form(form);
  wanted.version = state.version;
}

function runTraced(
  { node }: PlanStep,
  kernel: Pick<PreparedKernel, "name" | "run">,
  args: readonly (DeviceBuffer | undefined)[],
  results: readonly ConcreteSpec[],
): DeviceBuffer[] {
  const bytes = results.reduce((sum, { dtype, shape }) => sum + bytesOf(dtype, sizeOf(shape)), 0);
  const details = { op: node.def.name, kernel: kernel.name, bytes };
  return traced({ name: node.name, category: "step", details }, () => kernel.run(args));
}

/** A segment for one set of input specs. */
class Prepared {
  readonly #layout: Layout;
  /** What runs of the kernels left for the device to remember; absent where it remembers nothing, or arrays are uploaded. */
  readonly #sequence: Sequence | undefined;
  /** Constants hold their place; everything else is there while the segment runs. */
  readonly #buffers: DeviceBuffer[];
  /** Memory of the variables that are read, while the segment runs. */
  readonly #loaded: (Storage | null)[] = [];
  /** Memory that was made here, as far as somebody has it. */
  readonly #storages: (Storage | null)[];
  /** Outputs in the order of the plan's fetches, where that is all the plan computes; else null. */
  readonly #fetches: readonly Output[] | null;

  constructor(layout: Layout, plan: Plan) {
    this.#layout = layout;
    this.#buffers = layout.buffers;
    this.#storages = layout.made.map(() => null);
    this.#fetches = fetchesOf(layout, plan);
    const isUploaded = layout.inputs.some((x) => x.isArray && x.isRead);
    const constants = layout.buffers.filter((b) => b !== undefined);
    this.#sequence = isUploaded ? undefined : layout.device.sequence?.(constants);
  }

  get length(): number {
    return this.#layout.length;
  }

  /** True where it was prepared for such inputs, and for such variables. */
  fits(inputs: readonly RunValue[]): boolean {
    const { inputs: wanted, loads, device } = this.#layout;
    for (let i = 0; i < inputs.length; i++) {
      const v = inputs[i], { spec, isArray } = wanted[i];
      const shape = v instanceof NdArray ? v.shape : v.staticShape;
      if (
        v.dtype !== spec.dtype || (shape !== spec.shape && !sameShape(shape, spec.shape)) ||
        v instanceof NdArray !== isArray
      ) return false;
    }
    for (let i = 0; i < loads.length; i++) if (!isLoaded(loads[i], device)) return false;
    return true;
  }

  /** Runs it and returns how many steps that were. */
  run(inputs: readonly RunValue[], slots: Slots): number {
    if (this.length === 0) return 0;
    this.#compute(inputs, slots);
    // Before inputs are dropped, whose memory some may have.
    const next = this.#nextValues(inputs);
    this.#hand(inputs, slots);
    this.#assign(next);
    return this.length;
  }

  /** Runs it as all of its plan; null where it is not. The inputs stay the caller's. */
  runAlone(inputs: readonly RunValue[]): Results | null {
    const fetches = this.#fetches;
    if (fetches === null) return null;
    this.#compute(inputs, null);
    const { made, device } = this.#layout;
    const results = fetches.map(({ spec, owner }) => ({
      buffer: this.#buffers[made[owner.index]],
      spec,
    }));
    this.#assign(this.#nextValues(inputs));
    return new Results(device, results);
  }

  /** Fills the registers that outlive it. `slots` hears what is read no more; null: the inputs are somebody else's. */
  #compute(inputs: readonly RunValue[], slots: Slots | null): void {
    const { inputs: wanted, loads, made, work } = this.#layout;
    const buffers = this.#buffers, given: DeviceBuffer[] = [];
    for (let i = 0; i < inputs.length; i++) {
      const { slot, isRead } = wanted[i], v = inputs[i];
      if (isRead) buffers[slot] = v instanceof EagerTensor ? v.storage.buffer : undefined;
      if (isRead) given.push(buffers[slot]);
    }
    for (let i = 0; i < loads.length; i++) {
      const storage = loads[i].state.storage!;
      this.#loaded[i] = storage;
      given.push(buffers[loads[i].register] = storage.buffer);
    }
    if (this.#sequence === undefined) return this.#runKernels(inputs, slots);
    const results = this.#sequence.replay(given);
    if (results === null) {
      this.#sequence.record(given, () => {
        this.#runKernels(inputs, slots);
        return made.map((register) => buffers[register]);
      });
      return;
    }
    for (let i = 0; i < made.length; i++) buffers[made[i]] = results[i];
    if (slots === null) return;
    for (const { drops } of work) for (let i = 0; i < drops.length; i++) slots.drop(drops[i]);
  }

  #runKernels(inputs: readonly RunValue[], slots: Slots | null): void {
    const { inputs: wanted, work, device, specs } = this.#layout;
    const buffers = this.#buffers;
    let done = 0;
    try {
      for (let i = 0; i < inputs.length; i++) {
        const { slot, isArray, isRead } = wanted[i];
        if (isArray && isRead) buffers[slot] = device.upload(inputs[i] as NdArray);
      }
      for (; done < work.length; done++) {
        const { step, kernel, from, args, form, to, frees, drops } = work[done];
        for (let i = 0; i < from.length; i++) if (from[i] >= 0) args[i] = buffers[from[i]];
        const kept = form === null ? undefined : keptForm(form);
        if (kept !== undefined) args[form!.form.input] = kept;
        const by = kept === undefined ? kernel : form!.form;
        const made = tracer === null
          ? by.run(args)
          : runTraced(step, { name: kernel.name, run: by.run }, args, to.map((r) => specs[r]));
        for (let i = 0; i < to.length; i++) buffers[to[i]] = made[i];
        for (let i = 0; i < frees.length; i++) device.free(buffers[frees[i]], specs[frees[i]]);
        if (slots !== null) { for (let i = 0; i < drops.length; i++) slots.drop(drops[i]); }
      }
    } catch (e) {
      this.#free(done);
      const { step } = work[done];
      const inputSpecs = step.inputs.map((slot) => specs[slot]);
      throw locatedAt(ofOp(e, step.node.def, inputSpecs), step.node);
    }
  }

  /** Makes values of what is read later, and counts what was read. */
  #hand(inputs: readonly RunValue[], slots: Slots): void {
    const { outputs, used } = this.#layout;
    for (let i = 0; i < outputs.length; i++) {
      const { slot, spec, uses, owner } = outputs[i];
      slots.uses[slot] -= uses;
      slots.values[slot] = new EagerTensor(spec.dtype, spec.shape, this.#hold(owner, inputs));
    }
    for (const [slot, uses] of used) slots.used(slot, uses);
  }

  /** The memory of what is assigned: all of it is held before the first value is replaced. */
  #nextValues(inputs: readonly RunValue[]): Storage[] {
    return this.#layout.stores.map(({ owner }) => this.#hold(owner, inputs));
  }

  /** Gives variables their new values, and ends the run. */
  #assign(next: readonly Storage[]): void {
    const { stores } = this.#layout;
    for (let i = 0; i < stores.length; i++) stores[i].state.replace(stores[i].shape, next[i]);
    this.#loaded.fill(null);
    this.#storages.fill(null);
  }

  /** A reference to memory that outlives the segment. */
  #hold({ kind, index }: Owner, inputs: readonly RunValue[]): Storage {
    if (kind === "input") return (inputs[index] as EagerTensor).storage.retain();
    const known = kind === "load" ? this.#loaded[index] : this.#storages[index];
    if (known !== null) return known.retain();
    const { device, made, specs } = this.#layout, register = made[index];
    return this.#storages[index] = new Storage(device, this.#buffers[register], specs[register]);
  }

  /** Frees what the first `done` kernels left behind. */
  #free(done: number): void {
    const { inputs, work, device, specs } = this.#layout;
    const live = new Set<number>();
    for (const { slot, isArray, isRead } of inputs) {
      if (isArray && isRead && this.#buffers[slot] !== undefined) live.add(slot);
    }
    for (const { to, frees } of work.slice(0, done)) {
      for (const r of to) live.add(r);
      for (const r of frees) live.delete(r);
    }
    for (const r of live) device.free(this.#buffers[r], specs[r]);
  }
}

/** The outputs that are fetched, where nothing else of the plan is left and each has memory of its own. */
function fetchesOf({ length, outputs, stores }: Layout, plan: Plan): readonly Output[] | null {
  if (length < plan.steps.length || new Set(plan.fetches).size < plan.fetches.length) return null;
  const bySlot = new Map(outputs.map((o) => [o.slot, o])), holders = new Map<number, number>();
  for (const { owner: { kind, index } } of [...outputs, ...stores]) {
    if (kind === "made") holders.set(index, (holders.get(index) ?? 0) + 1);
  }
  const found = plan.fetches.map((slot) => bySlot.get(slot));
  const isOwn = (o: Output | undefined): o is Output =>
    o !== undefined && o.owner.kind === "made" && holders.get(o.owner.index) === 1;
  return found.every(isOwn) && found.length === outputs.length ? found : null;
}
