/**
 * Slots: the values of one run of a plan, where they are, and how often they are still read.
 */
import type { OpInput } from "../../core/apply.ts";
import {
  type BufferRead,
  type Device,
  type DeviceBuffer,
  type KernelForm,
  readNow,
} from "../../core/device.ts";
import { DTYPES } from "../../core/dtype.ts";
import { remembered } from "../../core/recent_map.ts";
import { NdArray } from "../../core/nd_array.ts";
import { constantTensor, outputWatch } from "../eager/eager.ts";
import type { Plan, PlanStep } from "./plan.ts";
import type { Owner } from "../../core/contract/host_op.ts";
import { copyArray, releaseValue, type RunValue } from "../run/run_value.ts";
import { Storage, totals } from "../eager/storage.ts";
import { EagerTensor } from "../eager/tensor.ts";

/** What a slot holds, as {@linkcode Plan.kinds} says it. */
export const RESULT = 0, CONSTANT = 1, FEED = 2;

/** What a plan keeps between runs. */
export interface PlanMemory {
  /** Constants on the devices that use them: as they are by slot, as kernels want them by slot and form. */
  readonly constants: Map<Device, Map<number | string, EagerTensor>>;
  /** True: the plan was given up, and must keep nothing any more. */
  released: boolean;
}

/** What a plan keeps between runs. */
export const memoryOf: (plan: Plan) => PlanMemory = remembered(() => ({
  constants: new Map(),
  released: false,
}));

/** Slots of what the host gives to kernels of a GPU. */
export const arraySlots: (plan: Plan) => readonly number[] = remembered(({ steps }) => {
  const made = new Set(steps.flatMap((s) => (s.node.def.host ? s.outputs : [])));
  const read = steps.flatMap((s) =>
    s.device.type === "GPU" && !s.node.def.host
      ? s.inputs.filter((slot, i) => !s.onHost[i] && made.has(slot))
      : []
  );
  return [...new Set(read)];
});

/** Frees what a plan holds between runs. */
export function releasePlan(plan: Plan): void {
  const memory = memoryOf(plan);
  memory.released = true;
  for (const tensors of memory.constants.values()) {
    for (const t of tensors.values()) {
      totals.tensors++;
      t.dispose();
    }
  }
  memory.constants.clear();
}

/** What lives and ends with a plan is no tensor of the user's. */
function uncounted(t: EagerTensor): EagerTensor {
  t.storage.uncount();
  totals.tensors--;
  return t;
}

/** The values of one run. */
export class Slots {
  /** The value of each slot; undefined before it is made and after its last reader. */
  readonly values: (RunValue | undefined)[];
  /** How often each value is still to be read. */
  readonly uses: number[];
  readonly #plan: Plan;
  readonly #memory: PlanMemory;
  readonly #kinds: Uint8Array;
  /** Host copies of values that live on a device. */
  readonly #hosts: (NdArray | undefined)[];
  #reading: Map<number, Promise<void>> | null = null;
  /** Slots of feeds that their holder gives up. */
  #given: Set<number> | null = null;
  #ended = false;

  constructor(plan: Plan, feeds: readonly RunValue[]) {
    this.#plan = plan;
    this.#memory = memoryOf(plan);
    this.values = new Array(plan.slots).fill(undefined);
    // Filled: reading past the end of a list is slow.
    this.#hosts = new Array(plan.slots).fill(undefined);
    this.uses = plan.uses.slice();
    this.#kinds = plan.kinds;
    for (const { slot, value } of plan.constants) this.values[slot] = value as RunValue;
    for (let i = 0; i < feeds.length; i++) {
      const slot = plan.feeds[i], feed = feeds[i];
      if (this.#kinds[slot] === RESULT && this.uses[slot] === 0) releaseValue(feed);
      else this.values[slot] = feed;
      if (!(feed instanceof EagerTensor) || !feed.isGiven) continue;
      feed.isGiven = false;
      (this.#given ??= new Set()).add(slot);
    }
  }

  /** True where the plan keeps nothing any more: what is prepared with its constants must not be used. */
  get isReleased(): boolean {
    return this.#memory.released;
  }

  /** Reads what this step needs from the GPU, and with it whatever its boundary will need and already has. */
  read(step: PlanStep): Promise<void> | undefined {
    if (this.mustRead(step)) this.#readFor(step);
    const waits: Promise<void>[] = [];
    for (let i = 0; i < step.inputs.length; i++) {
      const reading = step.offGpu[i] ? this.#reading?.get(step.inputs[i]) : undefined;
      if (reading && !waits.includes(reading)) waits.push(reading);
    }
    if (waits.length > 0) return waits.length === 1 ? waits[0] : Promise.all(waits).then(() => {});
  }

  /** True where the step needs something from the GPU that nobody reads yet. */
  mustRead({ inputs, offGpu }: PlanStep): boolean {
    for (let i = 0; i < inputs.length; i++) {
      if (offGpu[i] && this.isRemote(inputs[i]) && !this.#reading?.has(inputs[i])) return true;
    }
    return false;
  }

  /** What steps need from the GPU, with whatever their boundary will need and already has, for somebody else to read. */
  readsOf(steps: readonly PlanStep[]): {
    readonly slots: readonly number[];
    readonly reads: BufferRead[];
    readonly keep: (arrays: readonly NdArray[]) => void;
  } {
    const wanted = new Set<number>();
    for (const { inputs, offGpu, reads } of steps) {
      inputs.forEach((slot, i) => offGpu[i] && wanted.add(slot));
      for (const slot of reads) wanted.add(slot);
    }
    const slots = [...wanted].filter((s) => this.isRemote(s) && !this.#reading?.has(s));
    return {
      slots,
      reads: slots.map((s) => (this.values[s] as EagerTensor).memory),
      keep: (arrays) => arrays.forEach((a, i) => this.#hosts[slots[i]] = a),
    };
  }

  /** True where the value is in GPU memory and nowhere else. */
  isRemote(slot: number): boolean {
    const v = this.values[slot];
    return v instanceof EagerTensor && v.storage.device.type === "GPU" &&
      this.#hosts[slot] === undefined;
  }

  #readFor(step: PlanStep): void {
    const { slots, reads, keep } = this.readsOf([step]);
    const now = readNow((this.values[slots[0]] as EagerTensor).storage.device, reads);
    if (!(now instanceof Promise)) return keep(now);
    const reading = this.#reading ??= new Map();
    const pending = now.then((arrays) => {
      for (const s of slots) reading.delete(s);
      if (!this.#ended) keep(arrays);
    });
    for (const s of slots) reading.set(s, pending);
  }

  /** The value as a host array. */
  host(slot: number): NdArray {
    const known = this.#hosts[slot];
    if (known) return known;
    const v = this.values[slot]!;
    return v instanceof NdArray ? v : this.#hosts[slot] = v.ndarraySync();
  }

  /** Whose the host array is for who asks now: the last reader of a result may have it. */
  giveHost(slot: number): Owner {
    const array = this.#hosts[slot] ?? this.values[slot], kind = this.#kinds[slot];
    const isCopy = this.values[slot] !== array;
    if (this.uses[slot] === 1 && (kind === RESULT || isCopy)) {
      this.#hosts[slot] = undefined;
      return "callee";
    }
    return kind === CONSTANT && !isCopy ? "constant" : "run";
  }

  /** True where a value is the run's, for the last reader to have its memory. */
  isOwn(slot: number): boolean {
    return this.#kinds[slot] === RESULT || this.#given?.has(slot) === true;
  }

  /** True for the tensor in a slot where its last reader asks, which may have its memory. */
  isLast(slot: number, t: EagerTensor): boolean {
    return this.uses[slot] === 1 && this.isOwn(slot) && this.values[slot] === t &&
      outputWatch() === null;
  }

  /** The value as an input of a kernel on `device`; `local` where it must be brought there. */
  tensor(slot: number, device: Device, local: boolean): OpInput {
    const v = this.values[slot]!;
    if (!(v instanceof NdArray)) {
      if (!(v instanceof EagerTensor) || v.storage.device === device || !local) return v;
      const host = this.#hosts[slot];
      if (device.type === "CPU" || this.#kinds[slot] !== RESULT) return host ?? v;
      // A value made on the CPU goes up once, however many steps read it.
      const array = host ?? v.ndarraySync();
      this.#hosts[slot] = array;
      v.dispose();
      return this.values[slot] = constantTensor(array, device);
    }
    if (DTYPES[v.dtype].kind === "handle") return v;
    switch (this.#kinds[slot]) {
      case FEED:
        return v;
      case CONSTANT:
        if (this.#memory.released) return v;
        return this.#kept(slot, device, () => uncounted(constantTensor(v, device)));
    }
    // A script's result: uploaded once, however many steps read it; the host array stays for scripts.
    this.#hosts[slot] = v;
    return this.values[slot] = constantTensor(v, device);
  }

  /** Slots of host arrays that are still to be brought to kernels. */
  arraysFor(device: Device): number[] {
    return arraySlots(this.#plan).filter((slot) => {
      const v = this.values[slot];
      return v instanceof NdArray && device.supports(v.dtype);
    });
  }

  /** A host array has been brought to a device. */
  brought(slot: number, tensor: EagerTensor): void {
    this.#hosts[slot] = this.values[slot] as NdArray;
    this.values[slot] = tensor;
  }

  /** A constant as a kernel wants it, made once; `t` is the constant on its device. */
  form(slot: number, t: EagerTensor, { key, spec, make }: KernelForm): DeviceBuffer {
    const { device, buffer } = t.storage;
    return this.#kept(`${slot} ${key}`, device, () => {
      const storage = new Storage(device, make(buffer), spec);
      return uncounted(new EagerTensor(spec.dtype, spec.shape, storage));
    }).storage.buffer;
  }

  #kept(key: number | string, device: Device, make: () => EagerTensor): EagerTensor {
    const { constants } = this.#memory;
    let tensors = constants.get(device);
    if (!tensors) constants.set(device, tensors = new Map());
    let t = tensors.get(key);
    if (!t || t.isDisposed) tensors.set(key, t = make());
    return t;
  }

  /** Counts `n` reads of a value; it is dropped after its last one. */
  used(slot: number, n = 1): void {
    if ((this.uses[slot] -= n) === 0) this.drop(slot);
  }

  /** Forgets a value, and frees it where it is the run's. */
  drop(slot: number): void {
    const v = this.values[slot];
    if (v && this.#kinds[slot] === RESULT) releaseValue(v);
    this.values[slot] = undefined;
    this.#hosts[slot] = undefined;
  }

  /** The fetched values, each a handle of its own; `toHost`: what came to the host anyway is handed out from there. */
  fetch(toHost: boolean): RunValue[] {
    return this.#plan.fetches.map((slot) => {
      const v = this.values[slot]!;
      const last = --this.uses[slot] === 0 && this.#kinds[slot] === RESULT;
      if (v instanceof NdArray) return last ? v : copyArray(v);
      const host = this.#hosts[slot];
      if (toHost && host) {
        if (last) v.dispose();
        return last ? host : copyArray(host);
      }
      return last || !(v instanceof EagerTensor) ? v : v.alias();
    });
  }

  /** Frees everything: the run failed. */
  end(): void {
    this.#ended = true;
    for (let slot = 0; slot < this.values.length; slot++) this.drop(slot);
  }
}
