/** Slots: the values of one run of a plan, their places, and their remaining reads. */
import type { OpInput } from "../../core/apply.ts";
import {
  type BufferRead,
  type Device,
  type DeviceBuffer,
  type KernelForm,
  type PreparedKernel,
  readNow,
} from "../../core/device.ts";
import { levelsBehind } from "../../core/arrays/level_matrix.ts";
import { DTYPES } from "../../core/dtype.ts";
import { remembered } from "../../core/collections/recent_map.ts";
import { NdArray } from "../../core/nd_array.ts";
import { constantTensor, outputWatch } from "../eager/eager.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import type { Plan, PlanStep } from "./plan.ts";
import type { Owner } from "../../core/contract/host_op.ts";
import { copyArray, releaseValue, type RunValue } from "../run/run_value.ts";
import { Storage, totals } from "../eager/storage.ts";
import { EagerTensor, isEager } from "../eager/tensor.ts";

/** Kinds of slots, as in {@linkcode Plan.kinds}. */
export const RESULT = 0, CONSTANT = 1, FEED = 2;

/** The memory of a plan between runs. */
export interface PlanMemory {
  /** Constants on the devices that use them: plain by slot, in kernels' forms by slot and form. */
  readonly constants: Map<Device, Map<number | string, EagerTensor>>;
  /** Number of values that layouts have uploaded. */
  uploads: number;
  /** True after the plan was released: it must not keep anything. */
  released: boolean;
}

/** The memory of a plan between runs. */
export const memoryOf: (plan: Plan) => PlanMemory = remembered(() => ({
  constants: new Map(),
  uploads: 0,
  released: false,
}));

/** Slots of the host's inputs to GPU kernels. */
export const arraySlots: (plan: Plan) => readonly number[] = remembered(({ steps }) => {
  const made = new Set(steps.flatMap((s) => (s.node.def.host ? s.outputs : [])));
  const read = steps.flatMap((s) =>
    s.device.type === "GPU" && !s.node.def.host
      ? s.inputs.filter((slot, i) => !s.onHost[i] && made.has(slot))
      : []
  );
  return [...new Set(read)];
});

/** Frees the memory of a plan between runs. */
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

/** Removes a plan's tensor from the totals, which count the user's tensors. */
function uncounted(t: EagerTensor): EagerTensor {
  t.storage.uncount();
  totals.tensors--;
  return t;
}

/** An input in a kernel's form, and the kernel that reads it. */
export interface FormedInput {
  readonly buffer: DeviceBuffer;
  readonly run: PreparedKernel["run"];
}

/** The values of one run. */
export class Slots {
  /** Values by slot; undefined before they are made and after their last read. */
  readonly values: (RunValue | undefined)[];
  /** Number of remaining reads of each value. */
  readonly uses: number[];
  readonly #plan: Plan;
  readonly #memory: PlanMemory;
  readonly #kinds: Uint8Array;
  /** Host copies of device values. */
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
      if (feed instanceof NdArray || !isEager(feed) || !feed.isGiven) continue;
      feed.isGiven = false;
      (this.#given ??= new Set()).add(slot);
    }
  }

  /** True after the plan was released: its prepared constants must not be used. */
  get isReleased(): boolean {
    return this.#memory.released;
  }

  /** Reads the step's GPU inputs, together with the available values of its boundary. */
  read(step: PlanStep): Promise<void> | undefined {
    if (this.mustRead(step)) this.#readFor(step);
    const waits: Promise<void>[] = [];
    for (let i = 0; i < step.inputs.length; i++) {
      const reading = step.offGpu[i] ? this.#reading?.get(step.inputs[i]) : undefined;
      if (reading && !waits.includes(reading)) waits.push(reading);
    }
    if (waits.length > 0) return waits.length === 1 ? waits[0] : Promise.all(waits).then(() => {});
  }

  /** True where the step needs a read from the GPU that has not begun. */
  mustRead({ inputs, offGpu }: PlanStep): boolean {
    for (let i = 0; i < inputs.length; i++) {
      if (offGpu[i] && this.isRemote(inputs[i]) && !this.#reading?.has(inputs[i])) return true;
    }
    return false;
  }

  /**
   * Returns the reads of the steps' GPU inputs, together with the available values of their boundary, for the caller to
   * make.
   */
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

  /** True where the value is in GPU memory only. */
  isRemote(slot: number): boolean {
    const v = this.values[slot];
    return !(v instanceof NdArray) && isEager(v) && v.storage.device.type === "GPU" &&
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

  host(slot: number): NdArray {
    const known = this.#hosts[slot];
    if (known) return known;
    const v = this.values[slot]!;
    return v instanceof NdArray ? v : this.#hosts[slot] = v.ndarraySync();
  }

  /** Returns the host array and its owner for the next reader: the last reader of a result owns it. */
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

  /** Returns the value as an input of a kernel on `device`; `local` if it must be moved there. */
  tensor(slot: number, device: Device, local: boolean): OpInput {
    const v = this.values[slot]!;
    if (!(v instanceof NdArray)) {
      if (!isEager(v) || v.storage.device === device || !local) return v;
      const host = this.#hosts[slot];
      if (device.type === "CPU" || this.#kinds[slot] !== RESULT) return host ?? v;
      // A value made on the CPU is uploaded once for all steps that read it.
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
    // A script's result is uploaded once for all steps that read it; the host array stays for scripts.
    this.#hosts[slot] = v;
    return this.values[slot] = constantTensor(v, device);
  }

  /** Returns the slots of host arrays that kernels still need uploaded. */
  arraysFor(device: Device): number[] {
    return arraySlots(this.#plan).filter((slot) => {
      const v = this.values[slot];
      return v instanceof NdArray && device.supports(v.dtype);
    });
  }

  /** Takes the uploaded copy of a host array. */
  brought(slot: number, tensor: EagerTensor): void {
    this.#hosts[slot] = this.values[slot] as NdArray;
    this.values[slot] = tensor;
  }

  /**
   * Returns a constant in a kernel's form, made once, and the kernel for it; undefined where it is not on that device. An array is
   * uploaded for as long as the form is made, unless it is there already; levels are not.
   */
  form(slot: number, device: Device, form: KernelForm): FormedInput | undefined {
    const known = this.#memory.constants.get(device), v = this.values[slot];
    const isLent = v instanceof NdArray && known?.has(slot) !== true && !this.#memory.released;
    const { ofLevels } = form, levels = ofLevels && isLent ? levelsBehind(v) : undefined;
    if (levels !== undefined) {
      const { key, run } = ofLevels!, make = (): DeviceBuffer => ofLevels!.make(levels);
      return { buffer: this.#formed(`${slot} ${key}`, device, ofLevels!.spec, make), run };
    }
    const { key, spec, make, run } = form, name = `${slot} ${key}`, made = known?.get(name);
    if (made !== undefined && !made.isDisposed) return { buffer: made.storage.buffer, run };
    const t = isLent ? constantTensor(v, device) : this.tensor(slot, device, true);
    if (!isEager(t)) return undefined;
    try {
      if (t.storage.device !== device) return undefined;
      return { buffer: this.#formed(name, device, spec, () => make(t.storage.buffer)), run };
    } finally {
      if (isLent) t.dispose();
    }
  }

  #formed(key: string, device: Device, spec: ConcreteSpec, make: () => DeviceBuffer): DeviceBuffer {
    return this.#kept(key, device, () => {
      const storage = new Storage(device, make(), spec);
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

  /** Uploads a value for a layout, which lets it go by the name that this returns; null after the plan was released. */
  upload(
    array: NdArray,
    device: Device,
  ): { readonly name: string; readonly t: EagerTensor } | null {
    if (this.#memory.released) return null;
    const name = `upload ${this.#memory.uploads++}`;
    return { name, t: this.#kept(name, device, () => uncounted(constantTensor(array, device))) };
  }

  /** Frees what a layout uploaded. */
  letGo(names: readonly string[], device: Device): void {
    const tensors = this.#memory.constants.get(device);
    for (const name of names) {
      const t = tensors?.get(name);
      tensors?.delete(name);
      if (t === undefined || t.isDisposed) continue;
      totals.tensors++;
      t.dispose();
    }
  }

  /** Counts `n` reads of a value; drops it after the last one. */
  used(slot: number, n = 1): void {
    if ((this.uses[slot] -= n) === 0) this.drop(slot);
  }

  /** Forgets a value, and frees it if the run owns it. */
  drop(slot: number): void {
    const v = this.values[slot];
    if (v && this.#kinds[slot] === RESULT) releaseValue(v);
    this.values[slot] = undefined;
    this.#hosts[slot] = undefined;
  }

  /** Returns the fetched values, each a handle of its own; with `toHost`, as host arrays if they were read anyway. */
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
      return last || !isEager(v) ? v : v.alias();
    });
  }

  /** Frees everything after an error. */
  end(): void {
    this.#ended = true;
    for (let slot = 0; slot < this.values.length; slot++) this.drop(slot);
  }
}
