/**
 * A segment prepared for one set of input specs: its kernels run on bare buffers, and its last readers reuse memory where they can.
 */
import {
  type BufferRead,
  type Device,
  type DeviceBuffer,
  type PreparedKernel,
  readNow,
  type Sequence,
} from "../../core/device.ts";
import { NdArray } from "../../core/nd_array.ts";
import { bytesOf } from "../../core/dtype.ts";
import { sameShape, sizeOf } from "../../core/shape.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { traced, tracer } from "../../core/trace.ts";
import { ofOp } from "../eager/launch.ts";
import type { Plan, PlanStep } from "./plan.ts";
import { locatedAt } from "../run/run_errors.ts";
import { copyArray, type RunValue } from "../run/run_value.ts";
import type { Layout, Output, Owner, VariableForm } from "./layout.ts";
import { isLoaded } from "./segment_layout.ts";
import type { Slots } from "./slots.ts";
import { Storage } from "../eager/storage.ts";
import { EagerTensor, isEager } from "../eager/tensor.ts";

/**
 * The results of a plan that is one segment, each with memory of its own. The receiver calls one of the methods once.
 */
export class Results {
  readonly #device: Device;
  readonly #reads: readonly BufferRead[];

  constructor(device: Device, reads: readonly BufferRead[]) {
    this.#device = device;
    this.#reads = reads;
  }

  /** Returns tensors that belong to the scope in force. */
  tensors(): EagerTensor[] {
    const tensors: EagerTensor[] = [];
    for (const { buffer, spec } of this.#reads) {
      const storage = new Storage(this.#device, buffer, spec);
      tensors.push(new EagerTensor(spec.dtype, spec.shape, storage));
    }
    return tensors;
  }

  /** Host arrays, read in one copy. */
  arrays(): NdArray[] | Promise<NdArray[]> {
    let read: NdArray[] | Promise<NdArray[]> | undefined;
    try {
      read = readNow(this.#device, this.#reads);
    } finally {
      if (!(read instanceof Promise)) this.#free();
    }
    return read instanceof Promise ? read.finally(() => this.#free()) : read;
  }

  #free(): void {
    for (const { buffer, spec } of this.#reads) this.#device.free(buffer, spec);
  }
}

const NONE: readonly Storage[] = [];

/** True for a value whose memory its last reader may reuse: the run owns it, and nothing else holds it. */
export function mayMove(v: RunValue, isOwn: boolean): boolean {
  return isOwn && isEager(v) && v.isMovable;
}

/** Returns a variable's value in a kernel's form, if the value has not changed since the last run. */
function keptForm(wanted: VariableForm): DeviceBuffer | undefined {
  const { state, form, version } = wanted;
  if (version === state.version) return state.form(form);
  wanted.version = state.version;
}

/** True where each form is kept with its variable, whose value has not changed since the last run. */
function areKept(forms: readonly VariableForm[]): boolean {
  for (const { state, form, version } of forms) {
    if (version !== state.version || state.form(form) === undefined) return false;
  }
  return forms.length > 0;
}

/** Makes a runner that returns the memory of the argument that the kernel changes. */
function ontoRunner({ onto }: PreparedKernel): Pick<PreparedKernel, "run"> {
  const { input, run } = onto!;
  return {
    run(args) {
      run(args);
      return [args[input]];
    },
  };
}

function runTraced(
  { node }: PlanStep,
  device: Device,
  kernel: Pick<PreparedKernel, "name" | "run">,
  args: readonly (DeviceBuffer | undefined)[],
  results: readonly ConcreteSpec[],
): DeviceBuffer[] {
  const bytes = results.reduce((sum, { dtype, shape }) => sum + bytesOf(dtype, sizeOf(shape)), 0);
  const details = { op: node.def.name, kernel: kernel.name, device: device.type, bytes };
  return traced({ name: node.name, category: "step", details }, () => kernel.run(args));
}

/** A segment for one set of input specs. */
export class Prepared {
  readonly #layout: Layout;
  /** The kernels as the device remembers them; absent if it does not, or if arrays are uploaded. */
  readonly #sequence: Sequence | undefined;
  /** Constants stay; everything else is filled in during a run. */
  readonly #buffers: DeviceBuffer[];
  /** Memory of the read variables during a run. */
  readonly #loaded: (Storage | null)[] = [];
  /** Memory of new values that have a holder. */
  readonly #storages: (Storage | null)[];
  /** Outputs in the order of the plan's fetches, if the plan computes nothing else; else null. */
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

  /** Frees what only this layout has. It does not run again. */
  letGo(slots: Slots): void {
    slots.letGo(this.#layout.uploads, this.#layout.device);
  }

  /** True where it was prepared for such inputs, and for such variables. `slots`: where they are; null for what a caller passes. */
  fits(inputs: readonly RunValue[], slots: Slots | null): boolean {
    const { inputs: wanted, loads, device } = this.#layout;
    for (let i = 0; i < inputs.length; i++) {
      const v = inputs[i], { slot, spec, isArray, isTaken } = wanted[i];
      let shape: readonly number[];
      if (v instanceof NdArray) {
        if (!isArray || isTaken) return false;
        shape = v.shape;
      } else {
        if (isArray) return false;
        if (isTaken !== null) {
          const isOwn = slots === null ? isEager(v) && v.isGiven : slots.isOwn(slot);
          if (isTaken !== mayMove(v, isOwn)) return false;
        }
        shape = v.staticShape;
      }
      if (v.dtype !== spec.dtype || (shape !== spec.shape && !sameShape(shape, spec.shape))) {
        return false;
      }
    }
    for (let i = 0; i < loads.length; i++) if (!isLoaded(loads[i], device)) return false;
    return true;
  }

  /** Runs it and returns how many steps that were. */
  run(inputs: readonly RunValue[], slots: Slots): number {
    if (this.length === 0) return 0;
    this.#compute(inputs, slots);
    // Inputs are dropped below; their memory may be assigned.
    const next = this.#nextValues(inputs);
    this.#hand(inputs, slots);
    this.#assign(next);
    return this.length;
  }

  /** Runs it as the whole plan; null if it is not. The inputs stay the caller's. */
  runAlone(inputs: readonly RunValue[]): Results | null {
    const fetches = this.#fetches;
    if (fetches === null) return null;
    this.#compute(inputs, null);
    const { made, device } = this.#layout;
    const results: BufferRead[] = [];
    for (const { spec, owner } of fetches) {
      results.push({ buffer: this.#buffers[made[owner.index]], spec });
    }
    this.#assign(this.#nextValues(inputs));
    return new Results(device, results);
  }

  /**
   * Runs the kernels and fills the registers of lasting values. `slots` drops values after their last read; null where
   * the caller owns the inputs.
   */
  #compute(inputs: readonly RunValue[], slots: Slots | null): void {
    const { inputs: wanted, loads, made, spent, work } = this.#layout;
    const buffers = this.#buffers, given: DeviceBuffer[] = [];
    for (let i = 0; i < inputs.length; i++) {
      const { slot, isRead, isTaken, isArray } = wanted[i], v = inputs[i];
      if (!isRead) continue;
      const isTensor = !isArray && v instanceof EagerTensor;
      given.push(
        buffers[slot] = !isTensor ? undefined : isTaken ? v.surrender() : v.storage.buffer,
      );
    }
    for (let i = 0; i < loads.length; i++) {
      const storage = loads[i].state.storage!;
      this.#loaded[i] = storage;
      given.push(buffers[loads[i].register] = storage.buffer);
    }
    if (this.#sequence === undefined) return this.#runKernels(inputs, slots);
    const results = this.#replay(this.#sequence, given);
    if (results === null) {
      this.#sequence.record(given, () => {
        this.#runKernels(inputs, slots);
        return made.map((register) => buffers[register]);
      });
      return;
    }
    for (let i = 0; i < made.length; i++) buffers[made[i]] = results[i];
    for (const i of spent) this.#giveBack(i);
    if (slots === null) return;
    for (const { drops } of work) for (let i = 0; i < drops.length; i++) slots.drop(drops[i]);
  }

  #replay(sequence: Sequence, given: readonly DeviceBuffer[]): readonly DeviceBuffer[] | null {
    try {
      return sequence.replay(given);
    } catch (e) {
      this.#layout.inputs.forEach(({ isTaken }, i) => isTaken && this.#giveBack(i));
      throw e;
    }
  }

  /** Frees the memory of an input that was taken. */
  #giveBack(input: number): void {
    const { device, inputs } = this.#layout, { slot, spec } = inputs[input];
    device.free(this.#buffers[slot], spec);
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
        const { step, kernel, from, onto, args, form, serves, to, frees, drops } = work[done];
        if (areKept(serves)) {
          buffers[to[0]] = undefined;
          continue;
        }
        for (let i = 0; i < from.length; i++) if (from[i] >= 0) args[i] = buffers[from[i]];
        const kept = form === null ? undefined : keptForm(form);
        if (kept !== undefined) args[form!.form.input] = kept;
        const fault = kernel.fault === undefined ? null : kernel.fault();
        if (fault !== null) throw fault;
        const by = onto >= 0 ? ontoRunner(kernel) : kept === undefined ? kernel : form!.form;
        const made = tracer === null ? by.run(args) : runTraced(
          step,
          device,
          { name: kernel.name, run: by.run },
          args,
          to.map((r) => specs[r]),
        );
        for (let i = 0; i < to.length; i++) buffers[to[i]] = made[i];
        for (let i = 0; i < frees.length; i++) {
          // A kernel that need not run made nothing.
          if (buffers[frees[i]] !== undefined) device.free(buffers[frees[i]], specs[frees[i]]);
        }
        if (slots !== null) { for (let i = 0; i < drops.length; i++) slots.drop(drops[i]); }
      }
    } catch (e) {
      this.#free(done);
      const { step } = work[done];
      const inputSpecs = step.inputs.map((slot) => specs[slot]);
      throw locatedAt(ofOp(e, step.node.def, inputSpecs), step.node);
    }
  }

  /** Returns the lasting values to the slots and counts the reads. */
  #hand(inputs: readonly RunValue[], slots: Slots): void {
    const { outputs, arrays, used } = this.#layout;
    for (let i = 0; i < outputs.length; i++) {
      const { slot, spec, uses, owner } = outputs[i];
      slots.uses[slot] -= uses;
      slots.values[slot] = new EagerTensor(spec.dtype, spec.shape, this.#hold(owner, inputs));
    }
    for (let i = 0; i < arrays.length; i++) {
      const { slot, uses, value } = arrays[i];
      slots.uses[slot] -= uses;
      slots.values[slot] = copyArray(value);
    }
    for (const [slot, uses] of used) slots.used(slot, uses);
  }

  /** Retains the memory of all assigned values before the first assignment. */
  #nextValues(inputs: readonly RunValue[]): readonly Storage[] {
    const { stores } = this.#layout;
    return stores.length === 0 ? NONE : stores.map(({ owner }) => this.#hold(owner, inputs));
  }

  /** Assigns the variables and ends the run. */
  #assign(next: readonly Storage[]): void {
    const { stores } = this.#layout;
    for (let i = 0; i < stores.length; i++) stores[i].state.replace(stores[i].shape, next[i]);
    for (let i = 0; i < this.#loaded.length; i++) this.#loaded[i] = null;
    for (let i = 0; i < this.#storages.length; i++) this.#storages[i] = null;
  }

  /** Retains memory that outlives the segment. */
  #hold({ kind, index }: Owner, inputs: readonly RunValue[]): Storage {
    if (kind === "input") return (inputs[index] as EagerTensor).storage.retain();
    const known = kind === "load" ? this.#loaded[index] : this.#storages[index];
    if (known !== null) return known.retain();
    const { device, made, specs } = this.#layout, register = made[index];
    return this.#storages[index] = new Storage(device, this.#buffers[register], specs[register]);
  }

  /** Frees the memory of the first `done` kernels. */
  #free(done: number): void {
    const { inputs, work, device, specs } = this.#layout;
    const live = new Set<number>();
    for (const { slot, isArray, isRead, isTaken } of inputs) {
      if (isTaken || isArray && isRead && this.#buffers[slot] !== undefined) live.add(slot);
    }
    for (const { onto, to, frees } of work.slice(0, done)) {
      live.delete(onto);
      for (const r of to) live.add(r);
      for (const r of frees) live.delete(r);
    }
    for (const r of live) {
      if (this.#buffers[r] !== undefined) device.free(this.#buffers[r], specs[r]);
    }
  }
}

/** Returns the fetched outputs, if the plan computes nothing else and each has memory of its own. */
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
