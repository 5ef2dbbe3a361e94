/** Lays out a segment for concrete specs: the kernels, their registers, and the points where values are freed. */
import type { Device, DeviceBuffer, KernelForm, PreparedKernel } from "../../core/device.ts";
import { ResourceExhaustedError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { OpDef } from "../../core/op.ts";
import { compatible, sameShape } from "../../core/shape.ts";
import { type ConcreteSpec, isConcreteSpec } from "../../core/tensor_spec.ts";
import { AddV2, Sub } from "../../ops/pointwise/arithmetic.ts";
import {
  AssignAddVariableOp,
  AssignSubVariableOp,
  AssignVariableOp,
  ReadVariableOp,
} from "../variables/variable_ops.ts";
import type { Launch, LaunchRequest } from "../eager/launch.ts";
import { specOf } from "../eager/launch_cache.ts";
import type { Plan, PlanStep } from "./plan.ts";
import { CONSTANT, type FormedInput, type Slots } from "./slots.ts";
import type { Layout, Load, Output, Owner, Store, Value, VariableForm, Work } from "./layout.ts";
import { launchOf } from "./step_launches.ts";
import { type Turned, turnedBy, turnedForm } from "./turned_variables.ts";
import { type EagerTensor, isEager } from "../eager/tensor.ts";
import { VariableHandle, type VariableState } from "../variables/variable_state.ts";

/** An input of a segment. */
export interface Given {
  readonly slot: number;
  /** A tensor on the segment's device, or a host array. */
  readonly value: EagerTensor | NdArray;
  /** True where the segment may have the tensor's memory. */
  readonly isMovable: boolean;
}

/** The context of a layout, apart from steps and inputs. */
export interface LayoutContext {
  readonly plan: Plan;
  readonly device: Device;
  /** The run's slots, for constants. */
  readonly slots: Slots;
}

/**
 * Lays out the steps up to the first that must run by itself: one made of other ops, on another device, or with an
 * error.
 */
export function layOut(
  steps: readonly PlanStep[],
  given: readonly Given[],
  context: LayoutContext,
): Layout {
  const registers = new Registers(given, context);
  let length = 0;
  while (length < steps.length && registers.add(steps[length])) length++;
  return registers.finish(steps.slice(0, registers.isIdle ? 0 : length));
}

/** The op that an update of a variable computes. */
export const COMBINE: ReadonlyMap<OpDef, OpDef> = new Map([
  [AssignAddVariableOp, AddV2],
  [AssignSubVariableOp, Sub],
]);
const HANDLE: ConcreteSpec = { dtype: "resource", shape: [] };

/** Returns the variable that a step reads or assigns, if it is the same at each run. */
export function variableOf(
  { node: { def }, inputs }: PlanStep,
  plan: Plan,
  slots: Slots,
): VariableState | undefined {
  if (def !== ReadVariableOp && def !== AssignVariableOp && !COMBINE.has(def)) return undefined;
  const handle = plan.kinds[inputs[0]] === CONSTANT ? slots.values[inputs[0]] : undefined;
  return handle instanceof VariableHandle ? handle.resource : undefined;
}

class Registers {
  readonly #given: readonly Given[];
  readonly #context: LayoutContext;
  readonly #specs: ConcreteSpec[] = [];
  readonly #buffers: DeviceBuffer[] = [];
  /** The register of each view's source. */
  readonly #sources = new Map<number, number>();
  readonly #work: Work[] = [];
  readonly #loads: Load[] = [];
  readonly #values = new Map<VariableState, Value>();
  readonly #assigned = new Set<VariableState>();
  /** Transposed values of variables, by register. */
  readonly #turned = new Map<number, Turned>();
  /** Next register that is no slot's. */
  #next: number;

  constructor(given: readonly Given[], context: LayoutContext) {
    this.#given = given;
    this.#context = context;
    this.#next = context.plan.slots;
    for (const { slot, value } of given) this.#specs[slot] = specOf(value);
  }

  /** True where it has no kernel: views alone are not worth preparing. */
  get isIdle(): boolean {
    return this.#work.length === 0;
  }

  /** Adds a step; false if it must run by itself. */
  add(step: PlanStep): boolean {
    const state = variableOf(step, this.#context.plan, this.#context.slots);
    if (state !== undefined) return this.#addVariable(step, state);
    const { node, inputs, outputs } = step;
    const launch = this.#prepare(step);
    if (
      launch === null || launch.device !== this.#context.device ||
      !launch.outputs.every(isConcreteSpec) || !keepsPromise(step, launch.outputs)
    ) return false;
    if (node.def.meaning.kind === "view" && inputs.length > 0) {
      if (this.#isConstant(inputs[0])) return false;
      this.#sources.set(outputs[0], this.#register(inputs[0]));
    } else if (!this.#addWork(step, launch, { from: inputs, to: outputs })) return false;
    outputs.forEach((slot, i) => this.#specs[slot] = launch.outputs[i]);
    return true;
  }

  #addWork(
    step: PlanStep,
    launch: Launch,
    { from, to }: Pick<Work, "from" | "to">,
  ): boolean {
    const { kernel, hosts } = launch, { device } = this.#context;
    if (kernel === null || kernel.dynamic) return false;
    const { form } = kernel, made = form && this.#constantIn(from[form.input], form);
    // A kernel has these without a register.
    const isGiven = (i: number): boolean =>
      hosts[i] !== undefined || made !== undefined && i === form!.input;
    if (!from.every((slot, i) => isGiven(i) || this.#placeConstant(slot))) return false;
    const work: Work = {
      step,
      kernel: made === undefined ? kernel : { name: kernel.name, run: made.run },
      from: from.map((slot, i) => isGiven(i) ? -1 : this.#register(slot)),
      args: from.map((_, i) => (i === form?.input ? made?.buffer : undefined)),
      form: made === undefined ? this.#variableForm(from, kernel) : null,
      serves: [],
      onto: -1,
      to,
      frees: [],
      drops: [],
    };
    this.#work.push(work);
    const source = hosts[0] === undefined ? this.#loadAt(from[0]) : null;
    const turned = device.sequence
      ? null
      : turnedBy(work, launch, source && { ...source, spec: this.#specs[from[0]] });
    if (turned !== null) this.#turned.set(to[0], turned);
    return true;
  }

  /** Returns a constant in a kernel's form; undefined if it is no constant, or if memory is short. */
  #constantIn(slot: number, form: KernelForm): FormedInput | undefined {
    if (!this.#isConstant(slot)) return undefined;
    const { slots, device } = this.#context;
    try {
      return slots.form(slot, device, form);
    } catch (e) {
      if (e instanceof ResourceExhaustedError) return undefined;
      throw e;
    }
  }

  /** Returns the form of a variable that is read before it is assigned; null for everything else. */
  #variableForm(from: readonly number[], kernel: PreparedKernel): VariableForm | null {
    const { form } = kernel;
    if (form && !form.differs) {
      const load = this.#loadAt(from[form.input]);
      if (load !== null) return { state: load.state, form, version: -1 };
    }
    const input = from.findIndex((slot) => this.#turned.has(this.#register(slot)));
    if (input < 0) return null;
    return turnedForm(this.#turned.get(this.#register(from[input]))!, kernel, {
      input,
      device: this.#context.device,
    });
  }

  /** Returns the read of a variable whose value is in a register; null for other values. */
  #loadAt(slot: number): Load | null {
    const register = this.#register(slot);
    return this.#loads.find((l) => l.register === register) ?? null;
  }

  /** Lets transpositions rest whose results all readers keep, and takes the forms of the others' results away. */
  #settleTurned(leaving: ReadonlySet<number>): void {
    for (const [register, { work: by, state }] of this.#turned) {
      const readers = this.#work.filter((w) => w.from.includes(register));
      const isForm = (w: Work): boolean =>
        w.form?.state === state && w.from[w.form.form.input] === register;
      const isAll = readers.length > 0 && !leaving.has(register) &&
        readers.every((w) => isForm(w) && w.from.filter((r) => r === register).length === 1);
      if (isAll) by.serves = readers.map((w) => w.form!);
      else for (const w of readers) if (isForm(w)) w.form = null;
    }
  }

  #addVariable(step: PlanStep, state: VariableState): boolean {
    const { node: { def }, inputs, outputs } = step;
    this.#specs[inputs[0]] = HANDLE;
    if (def === AssignVariableOp) {
      const spec = this.#specs[inputs[1]];
      if (!state.takes(spec.dtype, spec.shape)) return false;
      this.#assign(state, { register: this.#register(inputs[1]), spec });
      return true;
    }
    const combine = COMBINE.get(def);
    const value = this.#load(state, combine === undefined ? outputs[0] : this.#next++);
    if (value === null) return false;
    if (combine !== undefined) return this.#combine(step, state, { op: combine, value });
    const { register, spec } = value;
    if (!keepsPromise(step, [spec])) return false;
    if (register !== outputs[0]) this.#sources.set(outputs[0], register);
    this.#specs[outputs[0]] = spec;
    return true;
  }

  /** Returns a variable's value; null if it is on another device. `free`: the register to use. */
  #load(state: VariableState, free: number): Value | null {
    const known = this.#values.get(state);
    if (known !== undefined) return known;
    const value = { register: free, spec: { dtype: state.dtype, shape: state.valueShape } };
    const load = { state, ...value };
    if (!isLoaded(load, this.#context.device)) return null;
    this.#loads.push(load);
    this.#values.set(state, value);
    this.#specs[free] = value.spec;
    return value;
  }

  #combine(
    step: PlanStep,
    state: VariableState,
    { op, value }: { op: OpDef; value: Value },
  ): boolean {
    const { inputs: [, by] } = step;
    if (!this.#placeConstant(by)) return false;
    const specs = [value.spec, this.#specs[by]];
    const launch = this.#tryPrepare(op, { specs, hosts: [undefined, undefined], attrs: {} });
    if (launch?.device !== this.#context.device) return false;
    const [spec] = launch.outputs, register = this.#next++;
    if (
      !state.takes(spec.dtype, spec.shape) ||
      !this.#addWork(step, launch, { from: [value.register, by], to: [register] })
    ) return false;
    this.#specs[register] = spec;
    this.#assign(state, { register, spec });
    return true;
  }

  #assign(state: VariableState, value: Value): void {
    this.#values.set(state, value);
    this.#assigned.add(state);
  }

  #prepare({ node, inputs, onHost }: PlanStep): Launch | null {
    const { values } = this.#context.slots;
    const arrays = inputs.map((s) => (this.#isConstant(s) ? values[s] as NdArray : undefined));
    const specs = inputs.map((slot, i) => this.#specs[slot] ??= specOf(arrays[i]!));
    const hosts = arrays.map((a, i) => (onHost[i] ? a : undefined));
    return this.#tryPrepare(node.def, { specs, hosts, attrs: node.attrs });
  }

  #tryPrepare(def: OpDef, request: Omit<LaunchRequest, "device">): Launch | null {
    try {
      return launchOf(def, { ...request, device: this.#context.device });
    } catch {
      // It fails again when run by itself, and the error names its node.
      return null;
    }
  }

  /** Uploads a constant to the device; true for everything else. */
  #placeConstant(slot: number): boolean {
    if (!this.#isConstant(slot)) return true;
    const { slots, device } = this.#context;
    const t = slots.tensor(slot, device, true);
    if (!isEager(t) || t.storage.device !== device) return false;
    this.#buffers[slot] = t.storage.buffer;
    this.#specs[slot] = specOf(t);
    return true;
  }

  #isConstant(slot: number): boolean {
    return this.#context.plan.kinds[slot] === CONSTANT;
  }

  #register(slot: number): number {
    return this.#sources.get(slot) ?? slot;
  }

  /** Finds the last reader of each value, and completes the layout. */
  finish(steps: readonly PlanStep[]): Layout {
    const { plan, device } = this.#context;
    const work = this.#work, loads = this.#loads, specs = this.#specs, buffers = this.#buffers;
    const reads = new Map<number, number>();
    for (const { inputs } of steps) for (const s of inputs) reads.set(s, (reads.get(s) ?? 0) + 1);
    const lastAt = new Map<number, Work>();
    for (const w of work) for (const r of w.from) lastAt.set(r, w);
    const kept = steps.flatMap((s) => s.outputs)
      .filter((slot) => plan.uses[slot] !== (reads.get(slot) ?? 0));
    const assigned = steps.length === 0 ? [] : [...this.#assigned];
    const leaving = new Set([
      ...kept.map((slot) => this.#register(slot)),
      ...assigned.map((state) => this.#values.get(state)!.register),
    ]);

    this.#settleTurned(leaving);
    const later = readsLater(plan, steps);
    const lastOf = (register: number): Work | undefined =>
      leaving.has(register) ? undefined : lastAt.get(register);
    const inputs = this.#given.map(({ slot, value, isMovable }) => {
      const last = value instanceof NdArray || later(slot) > 0 ? undefined : lastOf(slot);
      return {
        slot,
        spec: specs[slot],
        isArray: value instanceof NdArray,
        isRead: lastAt.has(slot) || leaving.has(slot),
        isTaken: last !== undefined && putsOnto(last, slot) ? isMovable : null,
      };
    });
    for (const w of work) {
      for (const r of w.to) if (!leaving.has(r)) (lastAt.get(r) ?? w).frees.push(r);
    }
    const used: [number, number][] = [];
    for (const { slot, isArray, isTaken } of inputs) {
      const last = lastOf(slot);
      if (isArray || isTaken) last?.frees.push(slot);
      if (!isArray && last && later(slot) === 0) last.drops.push(slot);
      else if (reads.has(slot)) used.push([slot, reads.get(slot)!]);
    }
    // What a kernel would free it can put its result into.
    for (const w of work) {
      const at = w.frees.findIndex((r) => putsOnto(w, r));
      if (at >= 0) [w.onto] = w.frees.splice(at, 1);
    }

    const made: number[] = [];
    const outputs = kept.map((slot): Output => ({
      slot,
      spec: specs[slot],
      uses: reads.get(slot) ?? 0,
      owner: this.#ownerOf(this.#register(slot), made),
    }));
    const stores = assigned.map((state): Store => {
      const { register, spec } = this.#values.get(state)!;
      return { state, shape: spec.shape, owner: this.#ownerOf(register, made) };
    });
    // Taken memory moves from result to result.
    const moved = new Map(work.flatMap(({ onto, to }) => onto < 0 ? [] : [[onto, to[0]]]));
    const spent = inputs.flatMap(({ slot, isTaken }, i) => {
      let register = slot;
      for (let next = moved.get(slot); next !== undefined; next = moved.get(next)) register = next;
      return isTaken && !made.includes(register) ? [i] : [];
    });
    const { length } = steps, all = { inputs, loads, work, made, spent, outputs, stores, used };
    return { device, length, ...all, specs, buffers };
  }

  /** Returns the owner of a register's memory; a new value is added to `made`. */
  #ownerOf(register: number, made: number[]): Owner {
    const given = this.#given.findIndex((g) => g.slot === register);
    if (given >= 0 && !(this.#given[given].value instanceof NdArray)) {
      return { kind: "input", index: given };
    }
    const load = this.#loads.findIndex((l) => l.register === register);
    if (load >= 0) return { kind: "load", index: load };
    if (!made.includes(register)) made.push(register);
    return { kind: "made", index: made.indexOf(register) };
  }
}

/** True for a kernel that can put its result into a register, which no other of its arguments is. */
function putsOnto({ kernel: { onto }, from }: Work, register: number): boolean {
  return onto !== undefined && from[onto.input] === register &&
    from.indexOf(register) === from.lastIndexOf(register);
}

/** True where the variable's value is on the device and unchanged since the layout. */
export function isLoaded({ state, spec }: Load, device: Device): boolean {
  return state.storage?.device === device &&
    (state.valueShape === spec.shape || sameShape(state.valueShape, spec.shape));
}

function keepsPromise({ node }: PlanStep, specs: readonly ConcreteSpec[]): boolean {
  return node.outputs.every((o, i) => !o.promised || compatible(o.shape, specs[i].shape));
}

/** Counts the reads of a slot after these steps, once all steps before have run. */
function readsLater(plan: Plan, steps: readonly PlanStep[]): (slot: number) => number {
  const left = plan.uses.slice();
  const end = steps.length === 0 ? 0 : steps[steps.length - 1].index + 1;
  for (const { inputs } of plan.steps.slice(0, end)) for (const slot of inputs) left[slot]--;
  return (slot) => left[slot];
}
