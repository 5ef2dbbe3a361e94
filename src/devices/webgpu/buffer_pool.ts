/**
 * GPU buffers by size class, reused instead of destroyed.
 * May import core.
 */
import type { DeviceCounters } from "../../core/device.ts";
import { ResourceExhaustedError } from "../../core/errors.ts";

/** A pooled buffer. */
export interface PooledBuffer {
  /** The WebGPU buffer. */
  readonly gpu: GPUBuffer;
  /** Its size: the class, not what was asked for. */
  readonly bytes: number;
  /** Number that names it in bind-group keys. */
  readonly id: number;
  /** Last command batch that uses it: an upload must not overtake that batch. */
  batch: number;
}

/** Above this many bytes a flush is cheaper than one more buffer. */
const SMALL = 1 << 16;
const LIMIT_BYTES = 512 * 2 ** 20;

/** Size class: multiples of an eighth of a power of two, at least 256 bytes. */
export function sizeClass(bytes: number): number {
  if (bytes <= 256) return 256;
  const step = Math.max(256, 2 ** Math.floor(Math.log2(bytes - 1)) / 8);
  return Math.ceil(bytes / step) * step;
}

/** Hands out storage buffers and takes them back. */
export class BufferPool {
  readonly #device: GPUDevice;
  readonly #counters: DeviceCounters;
  readonly #free = new Map<number, PooledBuffer[]>();
  readonly #onDestroy: (id: number) => void;
  readonly #limit: number;
  /** Given up while recorded commands use them. */
  readonly #doomed: PooledBuffer[] = [];
  /** Bytes of the largest buffer there can be. */
  readonly #most: number;
  readonly #adopted = new WeakMap<GPUBuffer, PooledBuffer>();
  #freeBytes = 0;
  #live = 0;
  #nextId = 1;

  /** Holds at most `limit` bytes for reuse. */
  constructor(
    device: GPUDevice,
    counters: DeviceCounters,
    { onDestroy, limit = LIMIT_BYTES }: { onDestroy: (id: number) => void; limit?: number },
  ) {
    this.#limit = limit;
    this.#device = device;
    this.#counters = counters;
    this.#onDestroy = onDestroy;
    this.#most = device.limits.maxBufferSize;
  }

  /** Bytes held for reuse. */
  get poolBytes(): number {
    return this.#freeBytes;
  }
  /** Buffers in use or held. */
  get buffers(): number {
    return this.#live;
  }

  /**
   * A storage buffer of at least `bytes`; its content is arbitrary. Throws `ResourceExhaustedError` where no buffer of the
   * device may be so large.
   */
  take(bytes: number): PooledBuffer {
    const size = this.#sizeFor(bytes);
    const reused = this.#free.get(size)?.pop();
    if (!reused) return this.#create(size);
    this.#freeBytes -= size;
    return reused;
  }

  /** Buffers of these sizes. Where one cannot be had none is taken. */
  takeAll(sizes: readonly number[], batch: number): PooledBuffer[] {
    const taken: PooledBuffer[] = [];
    try {
      for (const bytes of sizes) taken.push(this.take(bytes));
    } catch (e) {
      for (const b of taken) this.give(b, batch);
      throw e;
    }
    return taken;
  }

  /** A storage buffer that commands of `batch` do not use; a small one is made where all free ones are used. */
  takeIdle(bytes: number, batch: number): PooledBuffer {
    const size = this.#sizeFor(bytes);
    const list = this.#free.get(size);
    const at = list?.findIndex((b) => b.batch !== batch) ?? -1;
    if (at < 0) return size <= SMALL ? this.#create(size) : this.take(bytes);
    this.#freeBytes -= size;
    return list!.splice(at, 1)[0];
  }

  #sizeFor(bytes: number): number {
    const most = this.#most;
    if (bytes > most) {
      throw new ResourceExhaustedError(
        `Cannot make a GPU buffer of ${bytes} bytes: the device's maxBufferSize is ${most}`,
      );
    }
    return Math.min(sizeClass(bytes), most);
  }

  #create(size: number): PooledBuffer {
    this.#counters.buffersCreated++;
    this.#live++;
    const gpu = this.#device.createBuffer({
      size,
      usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
    });
    return { gpu, bytes: size, id: this.#nextId++, batch: -1 };
  }

  /** A buffer that somebody else made, and frees: it never comes into the pool. */
  adopt(gpu: GPUBuffer): PooledBuffer {
    let buffer = this.#adopted.get(gpu);
    if (!buffer) {
      buffer = { gpu, bytes: gpu.size, id: this.#nextId++, batch: -1 };
      this.#adopted.set(gpu, buffer);
    }
    return buffer;
  }

  /**
   * Takes a buffer back. Beyond the limit it is destroyed: at once, or, where recorded commands of `batch` use it, at
   * {@linkcode BufferPool.submitted}.
   */
  give(buffer: PooledBuffer, batch: number): void {
    if (this.#freeBytes + buffer.bytes > this.#limit) {
      if (buffer.batch === batch) this.#doomed.push(buffer);
      else this.#destroy(buffer);
      return;
    }
    let list = this.#free.get(buffer.bytes);
    if (!list) this.#free.set(buffer.bytes, list = []);
    list.push(buffer);
    this.#freeBytes += buffer.bytes;
  }

  /** Destroys what waited for recorded commands to be submitted. */
  submitted(): void {
    for (const buffer of this.#doomed.splice(0)) this.#destroy(buffer);
  }

  #destroy(buffer: PooledBuffer): void {
    this.#live--;
    this.#onDestroy(buffer.id);
    buffer.gpu.destroy();
  }
}
