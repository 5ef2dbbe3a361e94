/**
 * Backends as TensorFlow.js's programs see them: the class that theirs extend, and Weft's own.
 */
import { Tensor } from "../../engine/core/tensor.ts";
import { memory } from "../../engine/runtime/eager/memory.ts";
import { time } from "./timing.ts";
import type { BackendValues, DataId, DataType, TensorInfo } from "./types.ts";
import { Error } from "../../engine/core/throwing/builtin_errors.ts";

/** Least number that counts where floats have 32 bits. */
export const EPSILON_FLOAT32 = 1e-7;
/** Least number that counts where floats have 16 bits. */
export const EPSILON_FLOAT16 = 1e-4;

/** How long kernels took. */
export interface BackendTimingInfo {
  /** Milliseconds, or why they are not known. */
  kernelMs: number | { error: string };
  /** More about it. */
  getExtraProfileInfo?(): string;
}

/** Moves data between backends. */
export interface DataMover {
  /** Makes the data of an id known to a backend. */
  moveData(backend: KernelBackend, dataId: DataId): void;
}

/** Data of tensors by their ids; what is not there is moved here when it is asked for. */
export class DataStorage<T> {
  readonly #backend: KernelBackend;
  readonly #mover: DataMover;
  readonly #data = new WeakMap<DataId, T>();
  #count = 0;

  /** For a backend; `dataMover` brings what it lacks. */
  constructor(backend: KernelBackend, dataMover: DataMover) {
    this.#backend = backend;
    this.#mover = dataMover;
  }
  /** The data of an id. */
  get(dataId: DataId): T {
    if (!this.#data.has(dataId)) this.#mover.moveData(this.#backend, dataId);
    return this.#data.get(dataId)!;
  }
  /** Keeps data. */
  set(dataId: DataId, value: T): void {
    this.#count++;
    this.#data.set(dataId, value);
  }
  /** Whether there is data. */
  has(dataId: DataId): boolean {
    return this.#data.has(dataId);
  }
  /** Forgets data. */
  delete(dataId: DataId): boolean {
    this.#count--;
    return this.#data.delete(dataId);
  }
  /** How many ids have data. */
  numDataIds(): number {
    return this.#count;
  }
}

/** What backends extend: each method says that it is missing until one replaces it. */
export class KernelBackend {
  /** Tensors over an id. */
  refCount(_dataId: DataId): number {
    return missing("refCount");
  }
  /** Notes one more tensor over an id. */
  incRef(_dataId: DataId): void {
    return missing("incRef");
  }
  /** Whether kernels can be timed. */
  timerAvailable(): boolean {
    return true;
  }
  /** How long the kernels of `f` take. */
  time(_f: () => void): Promise<BackendTimingInfo> {
    return missing("time");
  }
  /** Reads the elements of an id. */
  read(_dataId: DataId): Promise<BackendValues> {
    return missing("read");
  }
  /** Reads the elements of an id at once. */
  readSync(_dataId: DataId): BackendValues {
    return missing("readSync");
  }
  /** The GPU memory of an id. */
  readToGPU(_dataId: DataId, _options?: object): object {
    return missing("readToGPU");
  }
  /** How many ids there are. */
  numDataIds(): number {
    return missing("numDataIds");
  }
  /** Frees an id. */
  disposeData(_dataId: DataId, _force?: boolean): boolean {
    return missing("disposeData");
  }
  /** Takes elements; gives their id. */
  write(_values: BackendValues, _shape: number[], _dtype: DataType): DataId {
    return missing("write");
  }
  /** Takes the elements of an id of another backend. */
  move(
    _dataId: DataId,
    _values: BackendValues,
    _shape: number[],
    _dtype: DataType,
    _refCount: number,
  ): void {
    return missing("move");
  }
  /** A tensor over GPU memory. */
  createTensorFromGPUData(_values: object, _shape: number[], _dtype: DataType): Tensor {
    return missing("createTensorFromGPUData");
  }
  /** Whether what memory says is exact. */
  memory(): { unreliable: boolean; reasons?: string[] } {
    return missing("memory");
  }
  /** Bits of floats. */
  floatPrecision(): 16 | 32 {
    return missing("floatPrecision");
  }
  /** Least number that counts. */
  epsilon(): number {
    return this.floatPrecision() === 32 ? EPSILON_FLOAT32 : EPSILON_FLOAT16;
  }
  /** Ends it. */
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

/** Weft itself: programs ask it for precision, counts and times, and their kernels read and write elements by it. */
export class WeftBackend extends KernelBackend {
  readonly #written = new WeakMap<DataId, Written>();

  /** Times what `f` does until the device has done it. */
  override async time(f: () => void): Promise<BackendTimingInfo> {
    const { kernelMs } = await time(f);
    return { kernelMs };
  }
  /** Takes elements that a kernel computed. */
  override write(values: BackendValues, shape: number[], dtype: DataType): DataId {
    const dataId = {};
    this.#written.set(dataId, { values, shape, dtype });
    return dataId;
  }
  /** {@linkcode WeftBackend.write}, as kernels return it. */
  makeTensorInfo(shape: number[], dtype: DataType, values: BackendValues): TensorInfo {
    return { dataId: this.write(values, shape, dtype), shape, dtype };
  }
  /** Reads the elements of a tensor, or those that a kernel wrote. */
  override async read(dataId: DataId): Promise<BackendValues> {
    return dataId instanceof Tensor
      ? (await dataId.ndarray()).data as BackendValues
      : this.readSync(dataId);
  }
  /** {@linkcode WeftBackend.read} at once. Throws for an id of which nothing is known. */
  override readSync(dataId: DataId): BackendValues {
    if (dataId instanceof Tensor) return dataId.ndarraySync().data as BackendValues;
    const written = this.#written.get(dataId);
    if (written !== undefined) return written.values;
    throw new Error(
      "Cannot read elements: the backend knows nothing of this dataId, write() gives one",
    );
  }
  /** The GPU memory of a tensor. */
  override readToGPU(dataId: DataId): object {
    if (dataId instanceof Tensor) return dataId.dataToGPU();
    throw new Error("Cannot read elements as GPU memory: no tensor has this dataId");
  }
  /** Pieces of memory. */
  override numDataIds(): number {
    return memory().numDataBuffers;
  }
  /** Exact. */
  override memory(): { unreliable: boolean } {
    return { unreliable: false };
  }
  /** Floats have 32 bits. */
  override floatPrecision(): 16 | 32 {
    return 32;
  }
  /** Nothing to end: devices belong to the process. */
  override dispose(): void {}
}
