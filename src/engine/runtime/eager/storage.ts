/** Storage: reference-counted device memory shared by views. */
import type { Device, DeviceBuffer } from "../../core/device.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { DTYPES } from "../../core/dtype.ts";
import { sizeOf } from "../../core/shape.ts";

/** Live totals, for `memory()`. */
export const totals = { tensors: 0, storages: 0, bytes: 0, lostTensors: 0, lostBytes: 0 };

export function bytesOfSpec({ dtype, shape }: ConcreteSpec): number {
  return DTYPES[dtype].bytes * sizeOf(shape);
}

/** Device memory with a reference count. */
export class Storage {
  /** Its device. */
  declare readonly device: Device;
  /** The device's handle. */
  declare readonly buffer: DeviceBuffer;
  /** Spec of the allocation. */
  declare readonly spec: ConcreteSpec;
  /** Bytes of the allocation. */
  declare readonly bytes: number;
  #refs = 1;
  #counted = true;

  /** Takes ownership of `buffer`; `bytes` if the caller knows them. */
  constructor(
    device: Device,
    buffer: DeviceBuffer,
    spec: ConcreteSpec,
    bytes: number = bytesOfSpec(spec),
  ) {
    this.device = device;
    this.buffer = buffer;
    this.spec = spec;
    this.bytes = bytes;
    totals.storages++;
    totals.bytes += bytes;
  }

  /** Number of holders. */
  get refs(): number {
    return this.#refs;
  }

  /** Adds a holder. */
  retain(): this {
    this.#refs++;
    return this;
  }

  /** Drops a holder; the last one frees the memory. */
  release(): void {
    if (--this.#refs !== 0) return;
    this.uncount();
    this.free();
  }

  /** True where its memory may become that of another value: it has one holder, and comes from the device. */
  get isMovable(): boolean {
    return this.#refs === 1;
  }

  /** Gives up the memory, which is the caller's from then on. The only holder must not release it. */
  surrender(): DeviceBuffer {
    this.#refs = 0;
    this.uncount();
    return this.buffer;
  }

  /**
   * Removes it from the totals: it belongs to an object that the garbage collector frees, so nothing can free it
   * explicitly.
   */
  uncount(): void {
    if (!this.#counted) return;
    this.#counted = false;
    totals.storages--;
    totals.bytes -= this.bytes;
  }

  /** Frees the memory. */
  protected free(): void {
    this.device.free(this.buffer, this.spec, this.bytes);
  }

  /** Drops a tensor that was collected as garbage. The totals still count it: they must not depend on the collector. */
  reclaim(): void {
    if (this.#counted) totals.lostTensors++;
    this.lose();
  }

  /** Does the same as {@linkcode Storage.reclaim} for a holder that is no tensor. */
  lose(): void {
    if (--this.#refs !== 0) return;
    if (this.#counted) totals.lostBytes += this.bytes;
    this.free();
  }
}

/** Holds handles (tapes and the like) that no device stores; the last holder disposes them. */
export class HandleStorage extends Storage {
  readonly handles: readonly unknown[];

  /** There is no memory. */
  override get isMovable(): boolean {
    return false;
  }

  /** Takes ownership of the handles; ops on them run on `device`. */
  constructor(device: Device, handles: readonly unknown[], spec: ConcreteSpec) {
    super(device, handles, spec);
    this.handles = handles;
  }

  protected override free(): void {
    for (const h of this.handles) (h as Partial<Disposable> | null)?.[Symbol.dispose]?.();
  }
}
