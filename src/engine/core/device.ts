/**
 * What the runtime knows of a device: memory and prepared kernels. Devices know no graph and no tensor.
 */
import type { NdArray } from "./nd_array.ts";
import type { ConcreteSpec } from "./tensor_spec.ts";
import type { OpDef, Problem } from "./op.ts";
import type { DType, HostData } from "./dtype.ts";
import { Dynamic } from "./scope_context.ts";

/** A piece of device memory; only its device looks inside. */
export type DeviceBuffer = unknown;

/** What a device has done so far; differences give a run's metadata. */
export class DeviceCounters {
  /** Compute dispatches recorded. */
  dispatches = 0;
  /** Queue submissions. */
  submits = 0;
  /** Copies from device to host that were waited for. */
  readbacks = 0;
  /** Bytes they brought. */
  bytesToHost = 0;
  /** Bytes uploaded. */
  bytesToDevice = 0;
  /** Buffers created (not taken from the pool). */
  buffersCreated = 0;
  /** Bind groups created. */
  bindGroupsCreated = 0;
  /** Pipelines compiled. */
  pipelinesCreated = 0;
}

/** A kernel chosen, planned and compiled for one problem; may be run many times. */
export interface PreparedKernel {
  /** Variant name, for profiles and tests. */
  readonly name: string;
  /** Runs on buffers of its device; host inputs are `undefined` there. Returns one buffer per output. */
  run(inputs: readonly (DeviceBuffer | undefined)[]): DeviceBuffer[];
  /** Runs with these buffers as outputs: for ops that change what is there. Absent where the kernel cannot. */
  readonly runInto?: (
    inputs: readonly (DeviceBuffer | undefined)[],
    outputs: readonly DeviceBuffer[],
  ) => void;
  /** An input that it copies before it reads it. Absent where it reads all as they are. */
  readonly form?: KernelForm;
  /** For outputs whose shape depends on values: takes buffers or host arrays, returns host arrays (CPU only). */
  readonly dynamic?: (inputs: readonly (DeviceBuffer | NdArray | undefined)[]) => NdArray[];
}

/** How a kernel wants one of its inputs to lie: one that stays as it is can be made so once. */
export interface KernelForm {
  /** Which input. */
  readonly input: number;
  /** The same for all kernels that want it alike. */
  readonly key: string;
  /** What it is then. */
  readonly spec: ConcreteSpec;
  /** Makes it, in memory that is the caller's. */
  make(buffer: DeviceBuffer): DeviceBuffer;
  /** {@linkcode PreparedKernel.run} with this in the input's place. */
  readonly run: PreparedKernel["run"];
  /** True where that adds in another order, so that last bits may differ: then one of both has to do all runs. */
  readonly differs?: boolean | undefined;
}

/** A row of prepared kernels that runs again and again: the device remembers what they did, where that gains anything. */
export interface Sequence {
  /** Does again what the kernels did before, on these inputs. Returns the results, which are the caller's; null where they must run. */
  replay(inputs: readonly DeviceBuffer[]): readonly DeviceBuffer[] | null;
  /** Runs the kernels, through `compute`, which returns their results: the same kernels in the same order each time. */
  record(inputs: readonly DeviceBuffer[], compute: () => readonly DeviceBuffer[]): void;
}

/** What it costs to move values between a device and the host. */
export interface TransferCost {
  /** Milliseconds that a readback takes, however small. */
  readonly latencyMs: number;
  /** Bytes that are moved in a millisecond. */
  readonly bytesPerMs: number;
}

/** One device. */
export interface Device {
  /** `/device:CPU:0`. */
  readonly name: string;
  /** `CPU` or `GPU`. */
  readonly type: "CPU" | "GPU";
  /** Human text: adapter or processor. */
  readonly description: string;
  /** True for a GPU emulated on the processor. */
  readonly software: boolean;
  /** True where the garbage collector does not see the memory: tensors that are dropped give it back through a net. */
  readonly managed: boolean;
  /** What it costs to bring values from and to it. */
  readonly transfer: TransferCost;
  /** Running totals. */
  readonly counters: DeviceCounters;
  /** True where the device can hold this dtype. */
  supports(dtype: DType): boolean;
  /** Prepares a kernel, or null where the device has none for this problem. */
  prepare(def: OpDef, problem: Problem): PreparedKernel | null;
  /** Makes a sequence of kernels that read these buffers each time, beside their inputs. Absent where that gains nothing. */
  sequence?(constants: readonly DeviceBuffer[]): Sequence;
  /** Copies a host array to the device, as another dtype where that is given. */
  upload(array: NdArray, dtype?: DType): DeviceBuffer;
  /** True where buffers can be read at once. */
  readonly canReadSync: boolean;
  /** True {@linkcode urgently}, where buffers can then be read at once though it costs much. Absent where that is never so. */
  readonly canReadUrgently?: boolean;
  /** Reads buffers at once, or null where the device cannot. */
  readSync(reads: readonly BufferRead[]): NdArray[] | null;
  /** Reads one buffer's elements at once. Absent where that gains nothing over {@linkcode readSync}. */
  readData?(buffer: DeviceBuffer, spec: ConcreteSpec): HostData;
  /** Where a buffer's elements lie on the host: to be read at once, and not kept. Absent where they do not. */
  hostElements?(buffer: DeviceBuffer, spec: ConcreteSpec): HostElements;
  /** Reads buffers, all in one round trip. */
  read(reads: readonly BufferRead[]): Promise<NdArray[]>;
  /** Gives memory back; `bytes` of the spec where the caller knows them. */
  free(buffer: DeviceBuffer, spec: ConcreteSpec, bytes?: number): void;
  /** The WebGPU buffer behind a buffer, for others on the same GPU to read. Absent where there is none. */
  lend?(buffer: DeviceBuffer): GPUBuffer;
  /** Memory held for reuse, and live device buffers. */
  memory(): { poolBytes: number; gpuBuffers: number };
  /** Throws a typed error where the device was lost or reported an error since the last call. */
  check(): void;
  /** Tells {@linkcode tracer} what the device itself measured since it was set. Absent where it measures nothing. */
  settleTrace?(): Promise<void>;
  /** Frees everything. */
  destroy(): void;
}

const urgent = new Dynamic(false);

/** Runs code whose caller cannot wait: devices then read at once also where that costs much more than waiting. */
export function urgently<R>(fn: () => R): R {
  return urgent.within(true, fn);
}

/** True where a device's buffers can be read at once, at whatever cost. */
export function canRead(device: Device): boolean {
  return device.canReadSync || urgently(() => device.canReadUrgently === true);
}

/** True inside of {@linkcode urgently}. */
export function isUrgent(): boolean {
  return urgent.current;
}

/** Reads buffers, in one round trip: at once where the device can. */
export function readNow(
  device: Device,
  reads: readonly BufferRead[],
): NdArray[] | Promise<NdArray[]> {
  device.check();
  return device.readSync(reads) ?? device.read(reads);
}

/** One buffer to read. */
export interface BufferRead {
  /** The memory. */
  readonly buffer: DeviceBuffer;
  /** What it holds. */
  readonly spec: ConcreteSpec;
}

/** A buffer's elements among others on the host. */
export interface HostElements {
  /** Where they are. */
  readonly data: HostData;
  /** Index of the first. */
  readonly from: number;
}

/** A kernel, as it is shown to who debugs. */
export interface KernelInfo {
  readonly device: string;
  readonly op: string;
  readonly name: string;
  /** Specs it was prepared for: inputs, then outputs. */
  readonly specs: string;
  /** What it consists of: dispatches of WGSL programs, or modules by their keys. */
  readonly parts: readonly KernelPart[];
}

export interface KernelPart {
  /** What tells the part from all others. */
  readonly key: string;
  /** Workgroups, on a GPU. */
  readonly workgroups?: readonly number[];
  /** Source, where it has one. */
  readonly source?: string;
}

/** Told of each kernel that is prepared; for debugging. */
export const kernelTrace: { print: ((kernel: KernelInfo) => void) | null } = { print: null };
