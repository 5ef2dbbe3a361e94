/**
 * Lays out a segment for concrete specs: which kernels run, on which registers, and who is freed when.
 * May import core and runtime files.
 */
import type { Device, DeviceBuffer, PreparedKernel } from "../core/device.ts";
import { NdArray } from "../core/nd_array.ts";
import { compatible } from "../core/shape.ts";
import { type ConcreteSpec, isConcreteSpec } from "../core/tensor_spec.ts";
import { type Launch, prepareLaunch } from "./launch.ts";
import type { Plan, PlanStep } from "./plan.ts";
import { CONSTANT, type Slots } from "./slots.ts";
import { EagerTensor } from "./tensor.ts";

/** One kernel of a prepared segment. Registers are numbered as slots; those of views are their sources'. */
export interface Work {
  /** The step. */
  readonly step: PlanStep;
  /** Its kernel. */
  readonly kernel: PreparedKernel;
  /** Registers of the arguments; -1 for what is read on the host. */
  readonly from: readonly number[];
  /** Filled and handed to the kernel at each run. */
  readonly args: (DeviceBuffer | undefined)[];
  /** Registers of the results. */
  readonly to: readonly number[];
  /** Registers that nobody reads after this. */
  readonly frees: number[];
  /** Slots of the run that nobody reads after this. */
  readonly drops: number[];
}

/** A value that outlives the segment. */
export interface Output {
  /** Its slot. */
  readonly slot: number;
  /** Where it is. */
  readonly register: number;
  /** What it is. */
  readonly spec: ConcreteSpec;
  /** Readers inside the segment. */
  readonly uses: number;
  /** The input whose memory it shares, or -1. */
  readonly input: number;
  /** Slot of an output before it that shares its memory, or -1. */
  readonly sibling: number;
}

/** An input, and the spec the segment was prepared for. */
export interface Input {
  /** Its slot. */
  readonly slot: number;
  /** What it was then. */
  readonly spec: ConcreteSpec;
  /** True: a host array, which is uploaded for the segment alone. */
  readonly isArray: boolean;
  /** False where nothing but views that nobody reads is made of it. */
  readonly isRead: boolean;
}

/** A segment for one set of specs. */
export interface Layout {
  /** Where it runs. */
  readonly device: Device;
  /** How many steps it covers. */
  readonly length: number;
  /** Inputs, in the order given. */
  readonly inputs: readonly Input[];
  /** Kernels in order. */
  readonly work: readonly Work[];
  /** What is read later. */
  readonly outputs: readonly Output[];
  /** Slots of the run that are read here and later, and how often here. */
  readonly used: readonly (readonly [slot: number, uses: number])[];
  /** Specs by slot. */
  readonly specs: readonly ConcreteSpec[];
  /** Registers; constants hold their places. */
  readonly buffers: DeviceBuffer[];
}

/** A value that comes into a segment. */
export interface Given {
  /** Its slot. */
  readonly slot: number;
  /** A tensor on the segment's device, or a host array. */
  readonly value: EagerTensor | NdArray;
}

/** What laying out needs beside steps and inputs. */
export interface LayoutContext {
  /** The plan. */
  readonly plan: Plan;
  /** Where the segment runs. */
  readonly device: Device;
  /** The run, for constants. */
  readonly slots: Slots;
}

/** Lays out the steps up to the first that must be run by itself: one made of other ops, of another device, or one that fails. */
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

class Registers {
  readonly #given: readonly Given[];
  readonly #context: LayoutContext;
  readonly #specs: ConcreteSpec[] = [];
  readonly #buffers: DeviceBuffer[] = [];
  /** For each view the register of its source. */
  readonly #sources = new Map<number, number>();
  readonly #work: Work[] = [];

  constructor(given: readonly Given[], context: LayoutContext) {
    this.#given = given;
    this.#context = context;
    for (const { slot, value } of given) {
      const shape = value instanceof NdArray ? value.shape : value.staticShape;
      this.#specs[slot] = { dtype: value.dtype, shape };
    }
  }

  /** True where there is no kernel to run: views alone are no work worth preparing. */
  get isIdle(): boolean {
    return this.#work.length === 0;
  }

  /** Adds a step; false where it must be run by itself. */
  add(step: PlanStep): boolean {
    const { node, inputs, outputs } = step;
    const launch = this.#prepare(step);
    if (
      launch === null || launch.device !== this.#context.device ||
      !launch.outputs.every(isConcreteSpec) ||
      !node.outputs.every((o, i) => !o.promised || compatible(o.shape, launch.outputs[i].shape))
    ) return false;
    if (node.def.kind === "view" && inputs.length > 0) {
      if (this.#isConstant(inputs[0])) return false;
      this.#sources.set(outputs[0], this.#register(inputs[0]));
    } else {
      const { kernel } = launch;
      if (kernel === null || kernel.dynamic || !this.#placeConstants(step)) return false;
      this.#work.push({
        step,
        kernel,
        from: inputs.map((slot, i) => launch.hosts[i] ? -1 : this.#register(slot)),
        args: new Array(inputs.length).fill(undefined),
        to: outputs,
        frees: [],
        drops: [],
      });
    }
    outputs.forEach((slot, i) => this.#specs[slot] = launch.outputs[i]);
    return true;
  }

  #prepare({ node, inputs, onHost, device }: PlanStep): Launch | null {
    const { values } = this.#context.slots;
    const arrays = inputs.map((s) => (this.#isConstant(s) ? values[s] as NdArray : undefined));
    try {
      return prepareLaunch(node.def, {
        specs: inputs.map((slot, i) => this.#specs[slot] ??= specOf(arrays[i]!)),
        hosts: arrays.map((a, i) => (onHost[i] ? a : undefined)),
        attrs: node.attrs,
        device,
      });
    } catch {
      // Run by itself it fails again, and says where.
      return null;
    }
  }

  #placeConstants({ inputs, onHost }: PlanStep): boolean {
    const { slots, device } = this.#context;
    return inputs.every((slot, i) => {
      if (onHost[i] || !this.#isConstant(slot)) return true;
      const t = slots.tensor(slot, device, true);
      if (!(t instanceof EagerTensor) || t.storage.device !== device) return false;
      this.#buffers[slot] = t.storage.buffer;
      this.#specs[slot] = specOf(t);
      return true;
    });
  }

  #isConstant(slot: number): boolean {
    return this.#context.plan.kinds[slot] === CONSTANT;
  }

  #register(slot: number): number {
    return this.#sources.get(slot) ?? slot;
  }

  /** Finds out who is read last where. */
  finish(steps: readonly PlanStep[]): Layout {
    const { plan, device } = this.#context;
    const work = this.#work;
    const reads = new Map<number, number>();
    for (const { inputs } of steps) for (const s of inputs) reads.set(s, (reads.get(s) ?? 0) + 1);
    const lastAt = new Map<number, Work>();
    for (const w of work) for (const r of w.from) lastAt.set(r, w);
    const outputs = this.#outputs(steps, reads);
    const leaving = new Set(outputs.map((o) => o.register));

    const inputs = this.#given.map(({ slot, value }) => ({
      slot,
      spec: this.#specs[slot],
      isArray: value instanceof NdArray,
      isRead: lastAt.has(slot) || leaving.has(slot),
    }));
    for (const w of work) {
      for (const r of w.to) if (!leaving.has(r)) (lastAt.get(r) ?? w).frees.push(r);
    }
    const used: [number, number][] = [];
    const later = readsLater(plan, steps);
    for (const { slot, isArray } of inputs) {
      const last = leaving.has(slot) ? undefined : lastAt.get(slot);
      if (isArray) last?.frees.push(slot);
      if (!isArray && last && later(slot) === 0) last.drops.push(slot);
      else if (reads.has(slot)) used.push([slot, reads.get(slot)!]);
    }
    const specs = this.#specs, buffers = this.#buffers;
    return { device, length: steps.length, inputs, work, outputs, used, specs, buffers };
  }

  #outputs(steps: readonly PlanStep[], reads: ReadonlyMap<number, number>): Output[] {
    const { plan } = this.#context;
    const bySource = new Map<number, number>();
    return steps.flatMap((s) => s.outputs).flatMap((slot) => {
      const uses = reads.get(slot) ?? 0;
      if (plan.uses[slot] === uses) return [];
      const register = this.#register(slot), spec = this.#specs[slot];
      const sibling = bySource.get(register) ?? -1;
      bySource.set(register, slot);
      const input = this.#given.findIndex((g) => g.slot === register);
      return [{ slot, register, spec, uses, input, sibling }];
    });
  }
}

function specOf(x: EagerTensor | NdArray): ConcreteSpec {
  return { dtype: x.dtype, shape: x instanceof NdArray ? x.shape : x.staticShape };
}

/** How often a slot is read after these steps, where all before them have run. */
function readsLater(plan: Plan, steps: readonly PlanStep[]): (slot: number) => number {
  const left = plan.uses.slice();
  const end = steps.length === 0 ? 0 : steps[steps.length - 1].index + 1;
  for (const { inputs } of plan.steps.slice(0, end)) for (const slot of inputs) left[slot]--;
  return (slot) => left[slot];
}
