/** Lays out a segment for concrete specs: the kernels, their registers, and the points where values are freed. */
import type { Device, DeviceBuffer, KernelForm, PreparedKernel } from "../../core/device.ts";
import { ResourceExhaustedError } from "../../core/errors.ts";
import type { NdArray } from "../../core/nd_array.ts";
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
import { ShapeValues } from "./shape_values.ts";
import { CONSTANT, type FormedInput, type Slots } from "./slots.ts";
import { completeLayout, type Draft, type Given } from "./complete_layout.ts";
import type { Layout, Load, Value, VariableForm, Work } from "./layout.ts";
import { launchOf } from "./step_launches.ts";
import { type Turned, turnedBy, turnedForm } from "./turned_variables.ts";
import { isEager } from "../eager/tensor.ts";
import { VariableHandle, type VariableState } from "../variables/variable_state.ts";

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
  return completeLayout(registers, steps.slice(0, length));
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

class Registers implements Draft {
  readonly plan: Plan;
  readonly device: Device;
  readonly #slots: Slots;
  readonly given: readonly Given[];
  readonly specs: ConcreteSpec[] = [];
  readonly buffers: DeviceBuffer[] = [];
  /** The register of each view's source. */
  readonly #sources = new Map<number, number>();
  readonly work: Work[] = [];
  readonly loads: Load[] = [];
  readonly values = new Map<VariableState, Value>();
  readonly assigned = new Set<VariableState>();
  /** Transposed values of variables, by register. */
  readonly turned = new Map<number, Turned>();
  /** Values that follow from shapes. */
  readonly shaped: ShapeValues;
  /** Slots of such values that the host alone has: of steps that are another device's, or have no kernel. */
  readonly hosted = new Set<number>();
  /** Names of the uploaded ones. */
  readonly uploads: string[] = [];
  /** Next register that is no slot's. */
  #next: number;

  constructor(given: readonly Given[], { plan, device, slots }: LayoutContext) {
    this.plan = plan;
    this.device = device;
    this.#slots = slots;
    this.given = given;
    this.#next = plan.slots;
    for (const { slot, value } of given) this.specs[slot] = specOf(value);
    this.shaped = new ShapeValues(this.specs, (slot) => this.#constant(slot));
  }

  /** Adds a step; false if it must run by itself. */
  add(step: PlanStep): boolean {
    const state = variableOf(step, this.plan, this.#slots);
    if (state !== undefined) return this.#addVariable(step, state);
    const isShaped = this.shaped.add(step), isHere = step.device === this.device;
    return isHere && this.#addOp(step) || isShaped && this.#addHosted(step);
  }

  /** Adds a step whose results the host computes for this layout; false if they are not small. */
  #addHosted(step: PlanStep): boolean {
    const { outputs } = step, values = outputs.map((slot) => this.shaped.value(slot));
    if (!values.every((v) => v !== null) || !keepsPromise(step, values)) return false;
    outputs.forEach((slot, i) => {
      this.specs[slot] = specOf(values[i]);
      this.hosted.add(slot);
    });
    return true;
  }

  #addOp(step: PlanStep): boolean {
    const { node, inputs, outputs } = step;
    const launch = this.#prepare(step);
    if (
      launch === null || launch.device !== this.device ||
      !launch.outputs.every(isConcreteSpec) || !keepsPromise(step, launch.outputs)
    ) return false;
    if (node.def.meaning.kind === "view" && inputs.length > 0) {
      if (this.#isConstant(inputs[0]) || this.hosted.has(inputs[0])) return false;
      this.#sources.set(outputs[0], this.register(inputs[0]));
    } else if (!this.#addWork(step, launch, { from: inputs, to: outputs })) return false;
    outputs.forEach((slot, i) => this.specs[slot] = launch.outputs[i]);
    return true;
  }

  #addWork(
    step: PlanStep,
    launch: Launch,
    { from, to }: Pick<Work, "from" | "to">,
  ): boolean {
    const { kernel, hosts } = launch, { device } = this;
    if (kernel === null || kernel.dynamic) return false;
    const { form } = kernel, made = form && this.#constantIn(from[form.input], form);
    // A kernel has these without a register.
    const isGiven = (i: number): boolean =>
      hosts[i] !== undefined || made !== undefined && i === form!.input;
    if (!from.every((slot, i) => isGiven(i) || this.#placeConstant(slot))) return false;
    const work: Work = {
      step,
      kernel: made === undefined ? kernel : { name: kernel.name, run: made.run },
      from: from.map((slot, i) => isGiven(i) ? -1 : this.register(slot)),
      args: from.map((_, i) => (i === form?.input ? made?.buffer : undefined)),
      form: made === undefined ? this.#variableForm(from, kernel) : null,
      serves: [],
      onto: -1,
      to,
      frees: [],
      drops: [],
    };
    this.work.push(work);
    const source = hosts[0] === undefined ? this.#loadAt(from[0]) : null;
    const turned = device.sequence
      ? null
      : turnedBy(work, launch, source && { ...source, spec: this.specs[from[0]] });
    if (turned !== null) this.turned.set(to[0], turned);
    return true;
  }

  /** Returns a constant in a kernel's form; undefined if it is no constant, or if memory is short. */
  #constantIn(slot: number, form: KernelForm): FormedInput | undefined {
    if (!this.#isConstant(slot)) return undefined;
    const { device } = this;
    try {
      return this.#slots.form(slot, device, form);
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
    const input = from.findIndex((slot) => this.turned.has(this.register(slot)));
    if (input < 0) return null;
    return turnedForm(this.turned.get(this.register(from[input]))!, kernel, {
      input,
      device: this.device,
    });
  }

  /** Returns the read of a variable whose value is in a register; null for other values. */
  #loadAt(slot: number): Load | null {
    const register = this.register(slot);
    return this.loads.find((l) => l.register === register) ?? null;
  }

  #addVariable(step: PlanStep, state: VariableState): boolean {
    const { node: { def }, inputs, outputs } = step;
    this.specs[inputs[0]] = HANDLE;
    if (def === AssignVariableOp) {
      const spec = this.specs[inputs[1]];
      if (this.hosted.has(inputs[1])) return false;
      if (!state.takes(spec.dtype, spec.shape)) return false;
      this.#assign(state, { register: this.register(inputs[1]), spec });
      return true;
    }
    const combine = COMBINE.get(def);
    const value = this.#load(state, combine === undefined ? outputs[0] : this.#next++);
    if (value === null) return false;
    if (combine !== undefined) return this.#combine(step, state, { op: combine, value });
    const { register, spec } = value;
    if (!keepsPromise(step, [spec])) return false;
    if (register !== outputs[0]) this.#sources.set(outputs[0], register);
    this.specs[outputs[0]] = spec;
    return true;
  }

  /** Returns a variable's value; null if it is on another device. `free`: the register to use. */
  #load(state: VariableState, free: number): Value | null {
    const known = this.values.get(state);
    if (known !== undefined) return known;
    const value = { register: free, spec: { dtype: state.dtype, shape: state.valueShape } };
    const load = { state, ...value };
    if (!isLoaded(load, this.device)) return null;
    this.loads.push(load);
    this.values.set(state, value);
    this.specs[free] = value.spec;
    return value;
  }

  #combine(
    step: PlanStep,
    state: VariableState,
    { op, value }: { op: OpDef; value: Value },
  ): boolean {
    const { inputs: [, by] } = step;
    if (!this.#placeConstant(by)) return false;
    const specs = [value.spec, this.specs[by]];
    const launch = this.#tryPrepare(op, { specs, hosts: [undefined, undefined], attrs: {} });
    if (launch?.device !== this.device) return false;
    const [spec] = launch.outputs, register = this.#next++;
    if (
      !state.takes(spec.dtype, spec.shape) ||
      !this.#addWork(step, launch, { from: [value.register, by], to: [register] })
    ) return false;
    this.specs[register] = spec;
    this.#assign(state, { register, spec });
    return true;
  }

  #assign(state: VariableState, value: Value): void {
    this.values.set(state, value);
    this.assigned.add(state);
  }

  #prepare({ node, inputs, onHost }: PlanStep): Launch | null {
    const specs = inputs.map((slot) => this.specs[slot] ??= specOf(this.#constant(slot)!));
    const hosts: (NdArray | undefined)[] = [];
    for (const [i, slot] of inputs.entries()) {
      const host = onHost[i] ? this.#constant(slot) ?? this.shaped.value(slot) : undefined;
      if (host === null) return null;
      hosts.push(host);
    }
    return this.#tryPrepare(node.def, { specs, hosts, attrs: node.attrs });
  }

  #tryPrepare(def: OpDef, request: Omit<LaunchRequest, "device">): Launch | null {
    try {
      return launchOf(def, { ...request, device: this.device });
    } catch {
      // It fails again when run by itself, and the error names its node.
      return null;
    }
  }

  /** Uploads what the layout knows to the device; false where it cannot be there. */
  #placeConstant(slot: number): boolean {
    const { device } = this;
    if (this.hosted.has(slot)) return this.#upload(slot);
    if (!this.#isConstant(slot)) return true;
    const t = this.#slots.tensor(slot, device, true);
    if (!isEager(t) || t.storage.device !== device) return false;
    this.buffers[slot] = t.storage.buffer;
    this.specs[slot] = specOf(t);
    return true;
  }

  /** Uploads a value that only the host has; it stays as long as the layout. */
  #upload(slot: number): boolean {
    const { device } = this, value = this.shaped.value(slot)!;
    if (this.buffers[slot] !== undefined) return true;
    const kept = device.supports(value.dtype) ? this.#slots.upload(value, device) : null;
    if (kept === null) return false;
    this.uploads.push(kept.name);
    this.buffers[slot] = kept.t.storage.buffer;
    return true;
  }

  #constant(slot: number): NdArray | undefined {
    return this.#isConstant(slot) ? this.#slots.values[slot] as NdArray : undefined;
  }

  #isConstant(slot: number): boolean {
    return this.plan.kinds[slot] === CONSTANT;
  }

  register(slot: number): number {
    return this.#sources.get(slot) ?? slot;
  }
}

/** True where the variable's value is on the device and unchanged since the layout. */
export function isLoaded({ state, spec }: Load, device: Device): boolean {
  return state.storage?.device === device &&
    (state.valueShape === spec.shape || sameShape(state.valueShape, spec.shape));
}

function keepsPromise({ node }: PlanStep, specs: readonly ConcreteSpec[]): boolean {
  return node.outputs.every((o, i) => !o.promised || compatible(o.shape, specs[i].shape));
}
