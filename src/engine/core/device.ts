/** The runtime's interface of a device: memory and prepared kernels. Devices know no graph and no tensor. */
import type { LevelMatrix } from "./arrays/level_matrix.ts";
import type { NdArray } from "./nd_array.ts";
import type { ConcreteSpec } from "./tensor_spec.ts";
import type { OpDef, Problem } from "./op.ts";
import type { DType, HostData } from "./dtype.ts";
import { Dynamic } from "./scope_context.ts";

/** A piece of device memory; only its device looks inside. */
export type DeviceBuffer = unknown;

/** Running totals of a device; a run's metadata are differences of them. */
export class DeviceCounters {
  /** Compute dispatches recorded. */
  dispatches = 0;
  /** Queue submissions. */
  submits = 0;
  /** Copies from device to host that were awaited. */
  readbacks = 0;
  /** Bytes of those copies. */
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

/** Kernels that the CPU has run so far in the process. */
export const kernelTotal = { count: 0 };

/** A kernel chosen, planned and compiled for one problem; may be run many times. */
export interface PreparedKernel {
  /** Variant name, for profiles and tests. */
  readonly name: string;
  /** Runs on buffers of its device, `undefined` for host inputs. Returns one buffer per output. */
  run(inputs: readonly (DeviceBuffer | undefined)[]): DeviceBuffer[];
  /** Returns the error of a kernel that is known not to run, whose results cannot be read. Absent where it always can. */
  readonly fault?: () => Error | null;
  /** Runs into these output buffers: for ops that update memory. Absent where unsupported. */
  readonly runInto?: (
    inputs: readonly (DeviceBuffer | undefined)[],
    outputs: readonly DeviceBuffer[],
  ) => void;
  /** Writes the result into the memory of one input, whose old value is lost. Absent where the kernel cannot. */
  readonly onto?: {
    readonly input: number;
    run(inputs: readonly (DeviceBuffer | undefined)[]): void;
  };
  /** Numbers of the inputs whose memory it changes. Absent for none. */
  readonly changes?: readonly number[];
  /** An input that the kernel copies into another layout before it reads it, if any. */
  readonly form?: KernelForm;
  /** For outputs whose shape depends on values: takes buffers or host arrays, returns host arrays (CPU only). */
  readonly dynamic?: (inputs: readonly (DeviceBuffer | NdArray | undefined)[]) => NdArray[];
}

/** The layout in which a kernel reads an input: a constant input can be converted once. */
export interface KernelForm {
  /** Number of the input. */
  readonly input: number;
  /** Equal for all kernels that want the same layout. */
  readonly key: string;
  /** Spec of the converted input. */
  readonly spec: ConcreteSpec;
  /** Converts the input, into memory that the caller owns. */
  make(buffer: DeviceBuffer): DeviceBuffer;
  /** Is {@linkcode PreparedKernel.run} with the converted input. */
  readonly run: PreparedKernel["run"];
  /** True where that run sums in another order, so that last bits may differ: then all runs must use the same one. */
  readonly differs?: boolean | undefined;
  /** The layout of levels, of which the kernel makes numbers at each run. Absent where it reads numbers. */
  readonly ofLevels?: LevelsForm | undefined;
}

/**
 * The layout in which a kernel takes levels of 8 bits in the place of numbers.
 * @internal
 */
export interface LevelsForm extends Pick<KernelForm, "key" | "spec" | "run"> {
  /** Lays the levels out, in memory that the caller owns. */
  make(matrix: LevelMatrix): DeviceBuffer;
}

/** A sequence of prepared kernels that runs repeatedly: a device may replay its record of them. */
export interface Sequence {
  /**
   * Repeats the recorded work on these inputs. Returns the results, which the caller owns; null where the kernels must
   * run.
   */
  replay(inputs: readonly DeviceBuffer[]): readonly DeviceBuffer[] | null;
  /** Runs the kernels by `compute`, which returns their results: the same kernels in the same order each time. */
  record(inputs: readonly DeviceBuffer[], compute: () => readonly DeviceBuffer[]): void;
}

/** The cost of moving values between a device and the host. */
export interface TransferCost {
  /** Milliseconds that a readback takes, however small. */
  readonly latencyMs: number;
  /** Bytes moved in a millisecond. */
  readonly bytesPerMs: number;
}

/** One device. */
export interface Device {
  /** `/device:CPU:0`. */
  readonly name: string;
  /** `CPU` or `GPU`. */
  readonly type: "CPU" | "GPU";
  /** Name of the adapter or processor. */
  readonly description: string;
  /** True for a GPU emulated on the processor. */
  readonly software: boolean;
  /** True where the garbage collector does not see the memory: a finalizer frees that of dropped tensors. */
  readonly managed: boolean;
  /** Cost of transfers from and to the host. */
  readonly transfer: TransferCost;
  /** Running totals. */
  readonly counters: DeviceCounters;
  /** True where the device can hold this dtype. */
  supports(dtype: DType): boolean;
  /** Prepares a kernel, or returns null where the device has none for this problem. */
  prepare(def: OpDef, problem: Problem): PreparedKernel | null;
  /**
   * Calls `prepare`, and resolves when the kernels that it prepares are compiled, which goes on in parallel where the platform can.
   * Absent where kernels are compiled as they are prepared.
   */
  ahead?(prepare: () => void): Promise<void>;
  /**
   * Makes a sequence of kernels that read these constant buffers besides their inputs. Absent where that gains nothing.
   */
  sequence?(constants: readonly DeviceBuffer[]): Sequence;
  /** Copies a host array to the device, converted to `dtype` where given. */
  upload(array: NdArray, dtype?: DType): DeviceBuffer;
  /** True where buffers can be read synchronously. */
  readonly canReadSync: boolean;
  /** Resolves when more is known of invalid buffers, for reads that wait; null while all buffers are valid. */
  readonly pending?: Promise<void> | null;
  /**
   * True inside {@linkcode urgently} where buffers can then be read synchronously at a high cost. Absent where never.
   */
  readonly canReadUrgently?: boolean;
  /** Reads buffers synchronously, or returns null where the device cannot. */
  readSync(reads: readonly BufferRead[]): NdArray[] | null;
  /** Reads one buffer's elements synchronously. Absent where that gains nothing over {@linkcode readSync}. */
  readData?(buffer: DeviceBuffer, spec: ConcreteSpec): HostData;
  /** Returns the place of a buffer's elements on the host, for an immediate read. Absent without such a place. */
  hostElements?(buffer: DeviceBuffer, spec: ConcreteSpec): HostElements;
  /** Reads buffers, all in one round trip. */
  read(reads: readonly BufferRead[]): Promise<NdArray[]>;
  /** Notes that memory of so many bytes holds a shorter value from now on. Absent where {@linkcode free} needs no size. */
  shorten?(buffer: DeviceBuffer, bytes: number): void;
  /** Frees memory; `bytes` of the spec where the caller knows them. */
  free(buffer: DeviceBuffer, spec: ConcreteSpec, bytes?: number): void;
  /** Returns the WebGPU buffer behind a buffer, for other readers on the same GPU. Absent where there is none. */
  lend?(buffer: DeviceBuffer): GPUBuffer;
  /** Memory held for reuse, and live device buffers. */
  memory(): { poolBytes: number; gpuBuffers: number };
  /** Throws a typed error where the device was lost or reported an error since the last call. */
  check(): void;
  /** Reports the device's own measurements to {@linkcode tracer}. Absent where it measures nothing. */
  settleTrace?(): Promise<void>;
  /** Frees everything. */
  destroy(): void;
}

const urgent = new Dynamic(false);

/** Runs code that cannot await: devices then read synchronously even where that costs much more. */
export function urgently<R>(fn: () => R): R {
  return urgent.within(true, fn);
}

/** True where a device's buffers can be read synchronously, at any cost. */
export function canRead(device: Device): boolean {
  return device.canReadSync || urgently(() => device.canReadUrgently === true);
}

/** True inside of {@linkcode urgently}. */
export function isUrgent(): boolean {
  return urgent.current;
}

/** Reads buffers in one round trip: synchronously where the device can. */
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
  /** Spec of its elements. */
  readonly spec: ConcreteSpec;
}

/** A buffer's elements on the host, as a part of an array. */
export interface HostElements {
  /** The array. */
  readonly data: HostData;
  /** Index of the first element. */
  readonly from: number;
}

/** A prepared kernel, for debugging. */
export interface KernelInfo {
  readonly device: string;
  readonly op: string;
  readonly name: string;
  /** Specs it was prepared for: inputs, then outputs. */
  readonly specs: string;
  /** Its parts: dispatches of WGSL programs, or modules by their keys. */
  readonly parts: readonly KernelPart[];
}

export interface KernelPart {
  /** The unique key of the part. */
  readonly key: string;
  /** Workgroups, on a GPU. */
  readonly workgroups?: readonly number[];
  /** Source, where it has one. */
  readonly source?: string;
}

/** Callback for each kernel that is prepared, for debugging. */
export const kernelTrace: { print: ((kernel: KernelInfo) => void) | null } = { print: null };
