/** Backends for TensorFlow.js's programs: the base class of their own backends, and Weft's backend. */
import { Tensor } from "../../engine/core/tensor.ts";
import { memory } from "../../engine/runtime/eager/memory.ts";
import { time } from "./timing.ts";
import type { BackendValues, DataId, DataType, TensorInfo } from "./types.ts";
import { Error } from "../../engine/core/throwing/builtin_errors.ts";

/** Least significant number where floats have 32 bits. */
export const EPSILON_FLOAT32 = 1e-7;
/** Least significant number where floats have 16 bits. */
export const EPSILON_FLOAT16 = 1e-4;

/** The time that kernels took. */
export interface BackendTimingInfo {
  /** Milliseconds, or why they are unknown. */
  kernelMs: number | { error: string };
  /** Returns more details. */
  getExtraProfileInfo?(): string;
}

/** Moves data between backends. */
export interface DataMover {
  /** Moves the data of an id to a backend. */
  moveData(backend: KernelBackend, dataId: DataId): void;
}

/** Data of tensors by their ids; missing data is moved here when it is read. */
export class DataStorage<T> {
  readonly #backend: KernelBackend;
  readonly #mover: DataMover;
  readonly #data = new WeakMap<DataId, T>();
  #count = 0;

  /** Creates the storage of a backend; `dataMover` brings missing data. */
  constructor(backend: KernelBackend, dataMover: DataMover) {
    this.#backend = backend;
    this.#mover = dataMover;
  }
  /** Returns the data of an id. */
  get(dataId: DataId): T {
    if (!this.#data.has(dataId)) this.#mover.moveData(this.#backend, dataId);
    return this.#data.get(dataId)!;
  }
  /** Stores the data of an id. */
  set(dataId: DataId, value: T): void {
    this.#count++;
    this.#data.set(dataId, value);
  }
  /** True where the id has data. */
  has(dataId: DataId): boolean {
    return this.#data.has(dataId);
  }
  /** Deletes the data of an id. */
  delete(dataId: DataId): boolean {
    this.#count--;
    return this.#data.delete(dataId);
  }
  /** Number of ids with data. */
  numDataIds(): number {
    return this.#count;
  }
}

/** The base class of backends: each method throws until a subclass overrides it. */
export class KernelBackend {
  /** Number of tensors over an id. */
  refCount(_dataId: DataId): number {
    return missing("refCount");
  }
  /** Counts one more tensor over an id. */
  incRef(_dataId: DataId): void {
    return missing("incRef");
  }
  /** True where kernels can be timed. */
  timerAvailable(): boolean {
    return true;
  }
  /** Times the kernels of `f`. */
  time(_f: () => void): Promise<BackendTimingInfo> {
    return missing("time");
  }
  /** Reads the elements of an id. */
  read(_dataId: DataId): Promise<BackendValues> {
    return missing("read");
  }
  /** Reads the elements of an id synchronously. */
  readSync(_dataId: DataId): BackendValues {
    return missing("readSync");
  }
  /** Returns the GPU memory of an id. */
  readToGPU(_dataId: DataId, _options?: object): object {
    return missing("readToGPU");
  }
  /** Number of ids. */
  numDataIds(): number {
    return missing("numDataIds");
  }
  /** Frees an id. */
  disposeData(_dataId: DataId, _force?: boolean): boolean {
    return missing("disposeData");
  }
  /** Stores elements; returns their id. */
  write(_values: BackendValues, _shape: number[], _dtype: DataType): DataId {
    return missing("write");
  }
  /** Takes over the elements of an id of another backend. */
  move(
    _dataId: DataId,
    _values: BackendValues,
    _shape: number[],
    _dtype: DataType,
    _refCount: number,
  ): void {
    return missing("move");
  }
  /** Makes a tensor over GPU memory. */
  createTensorFromGPUData(_values: object, _shape: number[], _dtype: DataType): Tensor {
    return missing("createTensorFromGPUData");
  }
  /** Tells whether the counts of memory are exact. */
  memory(): { unreliable: boolean; reasons?: string[] } {
    return missing("memory");
  }
  /** Bits of floats. */
  floatPrecision(): 16 | 32 {
    return missing("floatPrecision");
  }
  /** Least significant number. */
  epsilon(): number {
    return this.floatPrecision() === 32 ? EPSILON_FLOAT32 : EPSILON_FLOAT16;
  }
  /** Frees the backend. */
  dispose(): void {
    return missing("dispose");
  }
}

function missing(method: string): never {
  throw new Error(
    `'${method}' is not implemented: the backend that you have chosen may not support this kernel`,
  );
}

/** Elements that a program's kernel wrote, until a tensor is made of them. */
interface Written {
  readonly values: BackendValues;
  readonly shape: readonly number[];
  readonly dtype: DataType;
}

/**
 * Weft as a backend: programs ask it for precision, counts and times, and their kernels read and write elements by it.
 */
export class WeftBackend extends KernelBackend {
  readonly #written = new WeakMap<DataId, Written>();

  /** Times `f` until the device has finished. */
  override async time(f: () => void): Promise<BackendTimingInfo> {
    const { kernelMs } = await time(f);
    return { kernelMs };
  }
  /** Stores elements that a kernel computed. */
  override write(values: BackendValues, shape: number[], dtype: DataType): DataId {
    const dataId = {};
    this.#written.set(dataId, { values, shape, dtype });
    return dataId;
  }
  /** Stores elements as {@linkcode WeftBackend.write} does, and describes them for a kernel's result. */
  makeTensorInfo(shape: number[], dtype: DataType, values: BackendValues): TensorInfo {
    return { dataId: this.write(values, shape, dtype), shape, dtype };
  }
  /** Reads the elements of a tensor, or those that a kernel wrote. */
  override async read(dataId: DataId): Promise<BackendValues> {
    return dataId instanceof Tensor
      ? (await dataId.ndarray()).data as BackendValues
      : this.readSync(dataId);
  }
  /** Reads as {@linkcode WeftBackend.read}, synchronously. Throws for an unknown id. */
  override readSync(dataId: DataId): BackendValues {
    if (dataId instanceof Tensor) return dataId.ndarraySync().data as BackendValues;
    const written = this.#written.get(dataId);
    if (written !== undefined) return written.values;
    throw new Error(
      "Cannot read elements: the backend knows nothing of this dataId, write() gives one",
    );
  }
  /** Returns the GPU memory of a tensor. */
  override readToGPU(dataId: DataId): object {
    if (dataId instanceof Tensor) return dataId.dataToGPU();
    throw new Error("Cannot read elements as GPU memory: no tensor has this dataId");
  }
  /** Number of buffers. */
  override numDataIds(): number {
    return memory().numDataBuffers;
  }
  /** Counts are exact. */
  override memory(): { unreliable: boolean } {
    return { unreliable: false };
  }
  /** Floats have 32 bits. */
  override floatPrecision(): 16 | 32 {
    return 32;
  }
  /** Does nothing: devices belong to the process. */
  override dispose(): void {}
}
