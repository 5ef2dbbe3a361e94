/**
 * Storage: reference-counted device memory shared by views.
 */
import type { Device, DeviceBuffer } from "../../core/device.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { DTYPES } from "../../core/dtype.ts";
import { sizeOf } from "../../core/shape.ts";

/** Live totals, for `memory()`. */
export const totals = { tensors: 0, storages: 0, bytes: 0, lostTensors: 0, lostBytes: 0 };

/** Bytes that tensors of a spec take. */
export function bytesOfSpec({ dtype, shape }: ConcreteSpec): number {
  return DTYPES[dtype].bytes * sizeOf(shape);
}

/** Device memory with a reference count. */
export class Storage {
  /** Where it lives. */
  declare readonly device: Device;
  /** The device's handle. */
  declare readonly buffer: DeviceBuffer;
  /** What was allocated. */
  declare readonly spec: ConcreteSpec;
  /** Bytes of it. */
  declare readonly bytes: number;
  #refs = 1;
  #counted = true;

  /** Takes ownership of `buffer`. `bytes` where the caller knows them. */
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

  /** Holders of this storage. */
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

  /** Takes it out of the totals: nobody can free it, since it belongs to something that the collector frees. */
  uncount(): void {
    if (!this.#counted) return;
    this.#counted = false;
    totals.storages--;
    totals.bytes -= this.bytes;
  }

  /** Gives the memory back. */
  protected free(): void {
    this.device.free(this.buffer, this.spec, this.bytes);
  }

  /** Drops a tensor that was lost, not disposed. The totals keep counting it: they must not depend on when garbage is collected. */
  reclaim(): void {
    if (this.#counted) totals.lostTensors++;
    this.lose();
  }

  /** {@linkcode Storage.reclaim} for a holder that is no tensor. */
  lose(): void {
    if (--this.#refs !== 0) return;
    if (this.#counted) totals.lostBytes += this.bytes;
    this.free();
  }
}

/** Holds handles (tapes and the like) that no device knows: the last holder disposes them. */
export class HandleStorage extends Storage {
  readonly handles: readonly unknown[];

  /** There is no memory. */
  override get isMovable(): boolean {
    return false;
  }

  /** Takes ownership of the handles; `device` is where ops on them run. */
  constructor(device: Device, handles: readonly unknown[], spec: ConcreteSpec) {
    super(device, handles, spec);
    this.handles = handles;
  }

  protected override free(): void {
    for (const h of this.handles) (h as Partial<Disposable> | null)?.[Symbol.dispose]?.();
  }
}
