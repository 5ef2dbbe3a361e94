/** EagerTensor: a tensor with memory. The scopes that own such tensors are in scopes.ts. */
import {
  type BufferRead,
  type DeviceBuffer,
  type HostElements,
  readNow,
  urgently,
} from "../../core/device.ts";
import { wantList } from "../../core/arguments.ts";
import type { DType, HostData } from "../../core/dtype.ts";
import { mergeShapes, type PartialShape, shapeTuple } from "../../core/shape.ts";
import type { DataType, DataTypeMap, NumericDataType } from "../../core/ranks.ts";
import { tensorText } from "../../core/arrays/format.ts";
import { decodeString, reads } from "../../core/text.ts";
import type { TensorGpuData } from "../../core/gpu_data.ts";
import { elementAt } from "../../core/arrays/elements.ts";
import { nestElements } from "../../core/arrays/nest_elements.ts";
import { type ElementValue, NdArray, type Nested } from "../../core/nd_array.ts";
import { shortText, Tensor } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { FailedPreconditionError, RuntimeError, ValueError } from "../../core/errors.ts";
import { currentReads } from "./read_ahead.ts";
import { offerToOwner, outsideScopes, scopes } from "./scopes.ts";
import { specId } from "./spec_id.ts";
import { bytesOfSpec, type Storage, totals } from "./storage.ts";

export {
  dispose,
  endingRecordings,
  endScope,
  enterScope,
  keep,
  outsideScopes,
  type Owned,
  ownRecording,
  type Scope,
  scope,
  tidy,
  tidyBut,
  withOwner,
} from "./scopes.ts";

const lost = new FinalizationRegistry<Storage>((storage) => storage.reclaim());
/** New small tensors: most are disposed soon, and registering one costs more than a small op. */
const recent: EagerTensor[] = [];
const DISPOSED = -1;
const MOST_RECENT = 64, SMALL_BYTES = 1 << 16;
let nextRecent = 0;

/** A tensor that holds a value on a device. */
export class EagerTensor extends Tensor {
  /** Known dimensions. */
  declare readonly staticShape: readonly number[];
  /**
   * The memory.
   * @internal
   */
  declare readonly storage: Storage;
  #specId = 0;
  /** Its standing with the garbage collector, which frees the memory of a registered tensor. */
  #guarded: "no" | "recently" | "registered" = "no";
  /**
   * True where `keep()` was called: no scope disposes it. `"owned"` where something else than a scope does, `"captured"` where a
   * function reads it.
   */
  kept: boolean | "owned" | "captured" = false;
  /** Number of the call of a control flow op that holds it; 0 without one. */
  holder = 0;
  /** True while its holder gives it to its last reader: a plan may put a result into its memory. */
  isGiven = false;
  #isUncounted = false;

  /** Takes over one reference to `storage`. The scope in force owns the tensor. */
  constructor(dtype: DType, shape: readonly number[], storage: Storage, id?: number) {
    super(dtype, id);
    this.staticShape = shape;
    this.storage = storage;
    totals.tensors++;
    const { current } = scopes;
    if (current.length > 0) current[current.length - 1].push(this);
    else this.#goWithoutScope();
  }

  #goWithoutScope(): void {
    this.guard();
    offerToOwner(this);
  }

  /** Id of its dtype and shape; once it is disposed, one that no tensor in use has. */
  get specId(): number {
    return this.#specId ||= specId(this.dtype, this.staticShape);
  }
  set specId(id: number) {
    this.#specId = id;
  }

  /** Lets the garbage collector free the memory. Tensors owned by a scope do not need it. */
  guard(): void {
    if (this.#guarded !== "no" || this.isDisposed || !this.storage.device.managed) return;
    this.#guarded = "recently";
    if (this.storage.bytes > SMALL_BYTES) return this.#register();
    const older = recent[nextRecent];
    recent[nextRecent] = this;
    nextRecent = (nextRecent + 1) % MOST_RECENT;
    if (older !== undefined && !older.isDisposed) older.#register();
  }

  #register(): void {
    this.#guarded = "registered";
    lost.register(this, this.storage, this);
  }

  /** Full name of the device. */
  override get device(): string {
    return `/job:localhost/replica:0/task:0${this.storage.device.name}`;
  }
  /** True once `dispose()` has been called. */
  override get isDisposed(): boolean {
    return this.#specId === DISPOSED;
  }

  /** Returns a second handle on the memory, with an id of its own unless one is given. */
  alias(id?: number): EagerTensor {
    this.throwIfDisposed();
    return new EagerTensor(this.dtype, this.staticShape, this.storage.retain(), id);
  }
  /** Returns a second handle on the memory with the same id, owned by the caller alone: tapes keep such handles. */
  hold(): EagerTensor {
    return outsideScopes(() => this.alias(this.id));
  }
  /** The memory and its spec, for a read. */
  get memory(): BufferRead {
    const { dtype, staticShape: shape, storage: { buffer } } = this;
    return { buffer, spec: { dtype, shape } };
  }

  /** Reads the value as a host array. */
  override async ndarray(): Promise<NdArray> {
    this.throwIfDisposed();
    const { device } = this.storage;
    if (device.pending) await device.pending;
    const [out] = await readNow(device, [this.memory]);
    return out;
  }
  /** Reads the value as a host array at once. */
  override ndarraySync(): NdArray {
    return new NdArray(this.dtype, this.staticShape.slice(), this.#readSync());
  }
  /** Reads the elements, awaiting the device. */
  override async data<D extends DataType = NumericDataType>(): Promise<DataTypeMap[D]> {
    return this.storage.device.readData
      ? this.dataSync<D>()
      : readAs(this.dtype, (await this.ndarray()).data) as DataTypeMap[D];
  }
  /** Reads the elements at once. */
  override dataSync<D extends DataType = NumericDataType>(): DataTypeMap[D] {
    return readAs(this.dtype, this.#readSync()) as DataTypeMap[D];
  }

  #readSync(): HostData {
    this.throwIfDisposed();
    const { device } = this.storage, { buffer, spec } = this.memory;
    device.check();
    if (device.readData !== undefined) return device.readData(buffer, spec);
    const reads = [{ buffer, spec }], ahead = currentReads();
    const out = device.readSync(reads);
    if (out !== null) return out[0].data;
    const copy = ahead?.read(this);
    if (copy) return copy;
    const late = urgently(() => device.readSync(reads));
    if (late !== null) {
      ahead?.readLate([this]);
      return late[0].data;
    }
    throw new FailedPreconditionError(
      `Cannot read ${
        shortText(this)
      } synchronously: this runtime reads GPU memory only asynchronously, await data() instead`,
    );
  }
  /** Reads the elements as nested arrays. */
  override async array<A = Nested>(): Promise<A> {
    return this.storage.device.hostElements
      ? this.arraySync<A>()
      : arrayOf(await this.ndarray()) as A;
  }
  /** Reads the elements as nested arrays at once. */
  override arraySync<A = Nested>(): A {
    const known = reads.asTensorFlowJs ? null : this.#hostElements();
    if (known === null) return arrayOf(this.ndarraySync()) as A;
    return nestElements(
      { dtype: this.dtype, shape: this.staticShape, data: known.data },
      known.from,
    ) as A;
  }
  /** Reads the only element at once, in the form its dtype has in JavaScript. */
  override scalar(): ElementValue {
    if (this.size !== 1) {
      throw new ValueError(
        `Cannot take item() of ${shortText(this)}: it must hold exactly one element`,
      );
    }
    const known = this.#hostElements();
    if (known === null) return this.ndarraySync().at(0);
    return elementAt({ dtype: this.dtype, data: known.data }, known.from);
  }
  /** Reads the only element at once. */
  override item(): number {
    return this.scalar() as number;
  }

  /** Returns the GPU memory, held by `tensorRef`, which the scope in force owns. */
  override dataToGPU(): TensorGpuData {
    this.throwIfDisposed();
    const { device, buffer } = this.storage;
    device.check();
    if (device.lend === undefined) {
      throw new FailedPreconditionError(
        `Cannot give the GPU memory of ${
          shortText(this)
        }: it is on ${device.name}, compute it on the GPU first`,
      );
    }
    return { buffer: device.lend(buffer), tensorRef: this.alias() };
  }

  /** Frees the memory after its last view. */
  override dispose(): void {
    if (this.isDisposed) return;
    this.#end();
    this.storage.release();
  }
  #end(): void {
    this.#specId = DISPOSED;
    if (!this.#isUncounted) totals.tensors--;
    if (this.#guarded === "registered") lost.unregister(this);
  }
  /** True where its memory may become that of another value: it is the only holder. */
  get isMovable(): boolean {
    return this.storage.isMovable && (this.dtype !== "string" || this.#hasAll);
  }
  /** True where it has all of its memory. */
  get #hasAll(): boolean {
    const { storage, dtype, staticShape: shape } = this;
    return storage.bytes === bytesOfSpec({ dtype, shape });
  }
  /** Disposes it and gives its memory, of which it must be the only holder, to the caller. */
  surrender(): DeviceBuffer {
    const { storage: { device, buffer, bytes } } = this;
    if (!this.#hasAll) device.shorten?.(buffer, bytes);
    this.#end();
    return this.storage.surrender();
  }
  /** Keeps the tensor alive past the scopes in force. */
  override keep(): this {
    this.kept = true;
    return this;
  }
  /** Lets a function read this as long as the function lives. */
  override captured(): this {
    this.kept ||= "captured";
    return this;
  }
  /**
   * Keeps a kept tensor alive after its scope. A captured one then belongs to the function alone: the garbage collector
   * frees both, and the totals do not count it.
   */
  outlive(): void {
    this.guard();
    if (this.kept !== "captured" || this.#isUncounted || this.isDisposed) return;
    this.#isUncounted = true;
    totals.tensors--;
    if (this.storage.refs === 1) this.storage.uncount();
  }
  /** Refines the static shape. Throws `ValueError` on conflict. */
  override setShape(shape: PartialShape): void {
    if (shape !== null) wantList(shape, "shape", "setShape", "numbers");
    try {
      mergeShapes(this.staticShape, shape);
    } catch {
      throw new ValueError(
        `Tensor's shape ${shapeTuple(this.staticShape)} is not compatible with supplied shape ${
          shapeTuple(shape)
        }`,
      );
    }
  }
  /**
   * Formats the elements as `print` does, with `verbose` also dtype, rank and shape; short if they cannot be read now.
   */
  override toString(verbose = false): string {
    if (this.isDisposed) return shortText(this);
    try {
      return tensorText(this.ndarraySync(), verbose);
    } catch (error) {
      if (error instanceof FailedPreconditionError) return shortText(this);
      throw error;
    }
  }

  /** Returns the elements in place; null for strings, which are decoded, and for memory that the host cannot access. */
  #hostElements(): HostElements | null {
    const { device } = this.storage;
    if (device.hostElements === undefined || this.dtype === "string") return null;
    this.throwIfDisposed();
    device.check();
    const { buffer, spec } = this.memory;
    return device.hostElements(buffer, spec);
  }
}

/** True for a tensor with memory. An array's prototypes end in a Proxy, which a second `instanceof` would ask. */
export function isEager(value: unknown): value is EagerTensor {
  return !(value instanceof NdArray) && value instanceof EagerTensor;
}

/** Converts elements to the form of `data()`. */
function readAs(dtype: DType, data: HostData): HostData {
  if (dtype !== "string" || !reads.asTensorFlowJs) return data;
  return (data as Uint8Array[]).map(decodeString);
}

/** Converts elements to the form of `array()`. */
function arrayOf(a: NdArray): Nested {
  return reads.asTensorFlowJs ? plainNumbers(a) : plainStrings(a);
}

/** Converts elements to TensorFlow.js's form: numbers for bool, interleaved parts for complex numbers. */
function plainNumbers(a: NdArray): Nested {
  const { dtype, shape } = a;
  if (dtype === "bool") return new NdArray("uint8", shape, a.data as Uint8Array).toArray();
  if (dtype !== "complex64") return plainStrings(a);
  const parts = a.data as unknown as Float32Array;
  if (shape.length === 0) return parts[0];
  const doubled = [...shape.slice(0, -1), 2 * shape[shape.length - 1]];
  return new NdArray("float32", doubled, parts).toArray();
}

function plainStrings(a: NdArray): Nested {
  if (a.dtype !== "string") return a.toArray();
  const decode = (n: Nested): Nested =>
    n instanceof Uint8Array
      ? new TextDecoder().decode(n) as unknown as Nested
      : (n as readonly Nested[]).map(decode);
  return decode(a.toArray());
}

/** Checks that a tensor is eager. Throws `TypeError` for symbolic tensors, with TensorFlow's phrase. */
export function asEager(t: Tensor): EagerTensor {
  if (!(t instanceof EagerTensor)) {
    throw new TypeError(
      `${t} is out of scope and cannot be used here: it belongs to a graph, and this code runs eagerly. What graph.asDefault() calls builds until its first await: build before it, or call asDefault() again`,
    );
  }
  if (t.isDisposed) throw new RuntimeError(`Cannot use ${shortText(t)}: it is disposed`);
  return t;
}
