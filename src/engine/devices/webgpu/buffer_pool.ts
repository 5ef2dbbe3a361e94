/** GPU buffers by size class, reused instead of destroyed. */
import type { DeviceCounters } from "../../core/device.ts";
import { type OpError, ResourceExhaustedError } from "../../core/errors.ts";

export interface PooledBuffer {
  readonly gpu: GPUBuffer;
  /** Its size: that of the class, not of the request. */
  readonly bytes: number;
  readonly id: number;
  /** Last command batch that uses it: an upload must not overtake that batch. */
  batch: number;
  /** A copy of the host's upload, where that is small and has no other writer; null for results of kernels. */
  given: Uint8Array<ArrayBuffer> | null;
  /** True while the pool may hand it out. */
  isFree: boolean;
  /** True while it stands in a list of the pool, also after it was claimed. */
  isListed: boolean;
  readonly list: PooledBuffer[];
}

/** Buffers of one size, the last returned at the end. */
export interface SizeClass {
  readonly bytes: number;
  /** Free buffers, and some that were claimed meanwhile. */
  readonly list: PooledBuffer[];
}

/** A kernel's earlier buffers: the last one for each place, and the one before it. */
export type Taken = (PooledBuffer | undefined)[];

/** Bytes above which a flush is cheaper than one more buffer. */
const SMALL = 1 << 16;
const LIMIT_BYTES = 512 * 2 ** 20;
/** Submissions after which the memory that the process needed at once is asked again. */
const WINDOW = 256;

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
  readonly #classes = new Map<number, SizeClass>();
  /** Small buffers for uploads, the longest unused first. */
  readonly #uploads = new Map<number, PooledBuffer[]>();
  readonly #onDestroy: (id: number) => void;
  readonly #limit: number;
  /** Buffers to destroy once recorded commands no longer use them. */
  readonly #doomed: PooledBuffer[] = [];
  /** Errors of buffers in use without valid contents. */
  readonly #failed = new Map<PooledBuffer, () => OpError>();
  readonly #onFail: (error: GPUError) => void;
  readonly #most: number;
  readonly #adopted = new WeakMap<GPUBuffer, PooledBuffer>();
  #freeBytes = 0;
  #usedBytes = 0;
  /** Most bytes in use at once, in this window of submissions and in the one before. */
  #peak = 0;
  #peakBefore = 0;
  #submissions = 0;
  #live = 0;
  #nextId = 1;

  /**
   * Holds at most `limit` bytes for reuse, or, with those in use, as many as were lately in use at once. `onFail` is called for buffers that could not be allocated, which WebGPU
   * reports later; after it no recorded commands may be left.
   */
  constructor(
    device: GPUDevice,
    counters: DeviceCounters,
    { onDestroy, onFail, limit = LIMIT_BYTES }: {
      onDestroy: (id: number) => void;
      onFail: (error: GPUError) => void;
      limit?: number;
    },
  ) {
    this.#limit = limit;
    this.#onFail = onFail;
    this.#device = device;
    this.#counters = counters;
    this.#onDestroy = onDestroy;
    this.#most = device.limits.maxBufferSize;
  }

  get poolBytes(): number {
    return this.#freeBytes;
  }
  get buffers(): number {
    return this.#live;
  }

  /** Number of buffers in use without valid contents: those that could not be allocated, or whose kernel cannot run. */
  get failed(): number {
    return this.#failed.size;
  }

  /** Marks a buffer in use as invalid. */
  spoil(buffer: PooledBuffer, why: () => OpError): void {
    if (!buffer.isFree) this.#failed.set(buffer, why);
  }

  /** Throws where one of these is invalid: `ResourceExhaustedError` where it could not be allocated. */
  refuse(buffers: readonly (PooledBuffer | undefined)[]): void {
    for (const b of buffers) {
      const why = b && this.#failed.get(b);
      if (why) throw why();
    }
  }

  /**
   * Returns the class of buffers that hold `bytes`. Throws `ResourceExhaustedError` where that exceeds the device's
   * limit.
   */
  classOf(bytes: number): SizeClass {
    const size = this.#sizeFor(bytes);
    let found = this.#classes.get(size);
    if (!found) this.#classes.set(size, found = { bytes: size, list: [] });
    return found;
  }

  /** Takes a storage buffer with arbitrary content. */
  take({ bytes, list }: SizeClass): PooledBuffer {
    for (let b = list.pop(); b !== undefined; b = list.pop()) {
      b.isListed = false;
      if (b.isFree) return this.claim(b);
    }
    return this.#create(bytes, list);
  }

  /**
   * Takes buffers of these classes, or none where one is unavailable. Those of `before` are preferred, and it is
   * updated: a kernel that gets the same buffers again needs no new bind group.
   */
  takeAll(classes: readonly SizeClass[], before: Taken, batch: number): PooledBuffer[] {
    const taken: PooledBuffer[] = [];
    try {
      for (let i = 0; i < classes.length; i++) {
        const last = before[2 * i], other = before[2 * i + 1];
        if (last !== undefined && last.isFree) {
          taken.push(this.claim(last));
          continue;
        }
        // A program that replaces its last result uses two buffers in turns.
        const b = other !== undefined && other.isFree ? this.claim(other) : this.take(classes[i]);
        before[2 * i + 1] = last;
        before[2 * i] = b;
        taken.push(b);
      }
    } catch (e) {
      for (const b of taken) this.give(b, batch);
      throw e;
    }
    return taken;
  }

  claim(buffer: PooledBuffer): PooledBuffer {
    buffer.isFree = false;
    buffer.given = null;
    this.#freeBytes -= buffer.bytes;
    this.#use(buffer.bytes);
    return buffer;
  }

  /**
   * Takes a storage buffer that commands of `batch` do not use, if there is one; else a small one is made. Small ones
   * return in turns, so that kernels meet the same ones together again.
   */
  takeIdle(bytes: number, batch: number): PooledBuffer {
    const size = this.#sizeFor(bytes);
    if (size <= SMALL) {
      let list = this.#uploads.get(size);
      if (!list) this.#uploads.set(size, list = []);
      if (list.length === 0 || list[0].batch === batch) return this.#create(size, list);
      const b = list.shift()!;
      b.isListed = false;
      return this.claim(b);
    }
    const found = this.classOf(bytes), { list } = found;
    const at = list.findIndex((b) => b.isFree && b.batch !== batch);
    if (at < 0) return this.take(found);
    const [b] = list.splice(at, 1);
    b.isListed = false;
    return this.claim(b);
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

  #use(bytes: number): void {
    this.#usedBytes += bytes;
    if (this.#usedBytes > this.#peak) this.#peak = this.#usedBytes;
  }

  #create(size: number, list: PooledBuffer[]): PooledBuffer {
    this.#counters.buffersCreated++;
    this.#live++;
    this.#use(size);
    this.#device.pushErrorScope("out-of-memory");
    const gpu = this.#device.createBuffer({
      size,
      usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
    });
    const buffer = this.#buffer(gpu, list);
    this.#device.popErrorScope().then((error) => error && this.#fail(buffer, error), () => {});
    return buffer;
  }

  #buffer(gpu: GPUBuffer, list: PooledBuffer[]): PooledBuffer {
    const { size: bytes } = gpu;
    const id = this.#nextId++;
    return { gpu, bytes, id, batch: -1, given: null, isFree: false, isListed: false, list };
  }

  /** Handles a buffer that could not be allocated: it never enters the pool, and the pool's buffers are destroyed. */
  #fail(buffer: PooledBuffer, error: GPUError): void {
    this.#onFail(error);
    this.#failed.set(buffer, () =>
      new ResourceExhaustedError(
        "Cannot use this tensor: there was no GPU memory for it when it was made",
      ));
    for (const list of this.#lists()) {
      for (const held of list.splice(0)) {
        held.isListed = false;
        if (!held.isFree) continue;
        held.isFree = false;
        this.#freeBytes -= held.bytes;
        this.#failed.delete(held);
        this.#destroy(held);
      }
    }
  }

  /** Wraps a buffer with another owner, which frees it: it never enters the pool. */
  adopt(gpu: GPUBuffer): PooledBuffer {
    let buffer = this.#adopted.get(gpu);
    if (!buffer) this.#adopted.set(gpu, buffer = this.#buffer(gpu, []));
    return buffer;
  }

  /**
   * Returns a buffer to the pool. Beyond the limit the longest unused ones are destroyed: at once, or, where recorded commands
   * of `batch` use them, at {@linkcode BufferPool.submitted}.
   */
  give(buffer: PooledBuffer, batch: number): void {
    this.#usedBytes -= buffer.bytes;
    if (this.#failed.delete(buffer)) return this.#destroy(buffer);
    buffer.isFree = true;
    this.#freeBytes += buffer.bytes;
    if (!buffer.isListed) {
      buffer.isListed = true;
      buffer.list.push(buffer);
    }
    if (this.#freeBytes > this.#limit) this.#trim(batch);
  }

  /** Destroys the longest unused buffers until the limit is kept. */
  #trim(batch: number): void {
    const peak = Math.max(this.#peak, this.#peakBefore);
    const most = Math.max(this.#limit, peak - this.#usedBytes);
    while (this.#freeBytes > most) {
      const oldest = this.#longestUnused();
      if (oldest === null) return;
      oldest.isFree = false;
      this.#freeBytes -= oldest.bytes;
      if (oldest.batch === batch) this.#doomed.push(oldest);
      else this.#destroy(oldest);
    }
  }

  /** Takes the free buffer out of its list whose last batch is the earliest; null where there is none. */
  #longestUnused(): PooledBuffer | null {
    let oldest: PooledBuffer[] | null = null;
    for (const list of this.#lists()) {
      while (list.length > 0 && !list[0].isFree) list.shift()!.isListed = false;
      if (list.length > 0 && (oldest === null || list[0].batch < oldest[0].batch)) oldest = list;
    }
    const buffer = oldest?.shift() ?? null;
    if (buffer !== null) buffer.isListed = false;
    return buffer;
  }

  *#lists(): Generator<PooledBuffer[]> {
    for (const { list } of this.#classes.values()) yield list;
    yield* this.#uploads.values();
  }

  /** Destroys the buffers that waited for recorded commands to be submitted, and what is no longer needed. */
  submitted(): void {
    for (const buffer of this.#doomed.splice(0)) this.#destroy(buffer);
    if (++this.#submissions % WINDOW !== 0) return;
    this.#peakBefore = this.#peak;
    this.#peak = this.#usedBytes;
    this.#trim(-1);
  }

  #destroy(buffer: PooledBuffer): void {
    this.#live--;
    this.#onDestroy(buffer.id);
    buffer.gpu.destroy();
  }
}
