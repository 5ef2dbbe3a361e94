/** GPU buffers by size class, reused instead of destroyed. */
import type { DeviceCounters } from "../../core/device.ts";
import { type OpError, ResourceExhaustedError } from "../../core/errors.ts";
import { FreeList, type Listed } from "./free_list.ts";

/** Batches of commands among which some are invalid, from `since` on and before `until`, and the reason. */
export interface SpoiltBatches {
  readonly since: number;
  readonly until: number;
  readonly fault: OpError;
}

export interface PooledBuffer extends Listed {
  readonly gpu: GPUBuffer;
  /** Its size: that of the class, not of the request. */
  readonly bytes: number;
  /** Last command batch that uses it: an upload must not overtake that batch. */
  batch: number;
  /** Last command batch that writes it; -1 where the host or another owner wrote last. */
  written: number;
  /** A copy of the host's upload, where that is small and has no other writer; null for results of kernels. */
  given: Uint8Array<ArrayBuffer> | null;
  /** The list that it returns to: that of its size, or that of small uploads of its size. */
  readonly list: FreeList<PooledBuffer> | PooledBuffer[];
}

/** Buffers of one size. */
export interface SizeClass {
  readonly bytes: number;
  readonly list: FreeList<PooledBuffer>;
}

/** Bytes above which a flush is cheaper than one more buffer. */
const SMALL = 1 << 16;
const LIMIT_BYTES = 512 * 2 ** 20;
/** Submissions after which the memory that the process needed at once is asked again. */
const WINDOW = 256;
/** Bytes that stay for reuse where nothing is submitted for {@linkcode IDLE_MS}. */
const IDLE_BYTES = 64 * 2 ** 20;
const IDLE_MS = 10_000;

/** Size class: multiples of an eighth of a power of two, at least 256 bytes. */
export function sizeClass(bytes: number): number {
  if (bytes <= 256) return 256;
  const step = Math.max(256, 2 ** Math.floor(Math.log2(bytes - 1)) / 8);
  return Math.ceil(bytes / step) * step;
}

/** Calls back after so many milliseconds, unless the process has nothing else to do and ends. */
function laterAtMost(callback: () => void, ms: number): unknown {
  const timer: unknown = setTimeout(callback, ms);
  (timer as { unref?(): void }).unref?.();
  (globalThis as { Deno?: { unrefTimer?(id: unknown): void } }).Deno?.unrefTimer?.(timer);
  return timer;
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
  readonly #idleBytes: number;
  /** Runs while more than those bytes are free. */
  #idleTimer: unknown;
  /** The batch of commands that is recorded and not submitted, where buffers came back from it; else -1. */
  #recorded = -1;
  /** Buffers to destroy once recorded commands no longer use them. */
  readonly #doomed: PooledBuffer[] = [];
  /** Errors of buffers in use without valid contents. */
  readonly #failed = new Map<PooledBuffer, () => OpError>();
  readonly #spoilt: SpoiltBatches[] = [];
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
   * Holds at most `limit` bytes for reuse, or, with those in use, as many as were lately in use at once; `idleBytes` once nothing has been
   * submitted for ten seconds. `onFail` is called for buffers that could not be allocated, which WebGPU reports later; after it no recorded
   * commands may be left.
   */
  constructor(
    device: GPUDevice,
    counters: DeviceCounters,
    { onDestroy, onFail, limit = LIMIT_BYTES, idleBytes = IDLE_BYTES }: {
      onDestroy: (id: number) => void;
      onFail: (error: GPUError) => void;
      limit?: number;
      idleBytes?: number;
    },
  ) {
    this.#limit = limit;
    this.#idleBytes = idleBytes;
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
    return this.#failed.size + this.#spoilt.length;
  }

  /** Marks a buffer in use as invalid. */
  spoil(buffer: PooledBuffer, why: () => OpError): void {
    if (!buffer.isFree) this.#failed.set(buffer, why);
  }

  /**
   * Marks all that the commands of some batches write as invalid: what they only read keeps its contents. Lets free buffers go, whose
   * batches say nothing of later contents.
   */
  spoilBatches(batches: SpoiltBatches): void {
    this.#spoilt.push(batches);
    this.#trim(batches.until, 0);
  }

  /** The fault of a batch of commands; undefined where all of them ran. */
  #faultOf(batch: number): OpError | undefined {
    return this.#spoilt.find(({ since, until }) => batch >= since && batch < until)?.fault;
  }

  /** Returns why a buffer is invalid; undefined where it is not. */
  #whyNot(buffer: PooledBuffer): OpError | undefined {
    return this.#failed.get(buffer)?.() ?? this.#faultOf(buffer.written);
  }

  /** True where none of these is invalid. */
  areValid(buffers: Iterable<PooledBuffer>): boolean {
    for (const b of buffers) if (this.#whyNot(b) !== undefined) return false;
    return true;
  }

  /**
   * Throws where one of these is invalid, or commands of `batch` were lost: `ResourceExhaustedError` where there was no memory for a buffer.
   */
  refuse(buffers: readonly (PooledBuffer | undefined)[], batch = -1): void {
    for (const b of buffers) {
      const why = b && this.#whyNot(b);
      if (why) throw why;
    }
    const fault = this.#faultOf(batch);
    if (fault) throw fault;
  }

  /**
   * Returns the class of buffers that hold `bytes`. Throws `ResourceExhaustedError` where that exceeds the device's
   * limit.
   */
  classOf(bytes: number): SizeClass {
    const size = this.#sizeFor(bytes);
    let found = this.#classes.get(size);
    if (!found) this.#classes.set(size, found = { bytes: size, list: new FreeList() });
    return found;
  }

  /** Takes a storage buffer with arbitrary content. */
  take({ bytes, list }: SizeClass): PooledBuffer {
    const free = list.take();
    return free === undefined ? this.#create(bytes, list) : this.claim(free);
  }

  /** Takes buffers of these classes, or none where one is unavailable. */
  takeAll(classes: readonly SizeClass[], batch: number): PooledBuffer[] {
    const taken: PooledBuffer[] = [];
    try {
      for (let i = 0; i < classes.length; i++) taken.push(this.take(classes[i]));
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
      while (list.length > 0 && !list[0].isFree) list.shift();
      if (list.length === 0 || list[0].batch === batch) return this.#create(size, list);
      const b = list.shift()!;
      b.isListed = false;
      return this.claim(b);
    }
    const found = this.classOf(bytes), idle = found.list.find((b) => b.batch !== batch);
    return idle === undefined ? this.take(found) : this.claim(idle);
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

  #create(size: number, list: PooledBuffer["list"]): PooledBuffer {
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

  #buffer(gpu: GPUBuffer, list: PooledBuffer["list"]): PooledBuffer {
    const { size: bytes } = gpu;
    const id = this.#nextId++;
    return {
      gpu,
      bytes,
      id,
      batch: -1,
      written: -1,
      given: null,
      isFree: false,
      isListed: false,
      list,
    };
  }

  /** Handles a buffer that could not be allocated: it never enters the pool, and the pool's buffers are destroyed. */
  #fail(buffer: PooledBuffer, error: GPUError): void {
    this.#onFail(error);
    this.#failed.set(buffer, () =>
      new ResourceExhaustedError(
        "Cannot use this tensor: there was no GPU memory for it when it was made",
      ));
    for (const held of this.#free()) {
      held.isFree = false;
      this.#freeBytes -= held.bytes;
      this.#failed.delete(held);
      this.#destroy(held);
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
    if (this.#failed.delete(buffer) || this.#faultOf(buffer.written)) return this.#destroy(buffer);
    buffer.isFree = true;
    this.#freeBytes += buffer.bytes;
    const { list } = buffer;
    if (list instanceof FreeList) list.add(buffer);
    else if (!buffer.isListed) {
      buffer.isListed = true;
      list.push(buffer);
    }
    if (this.#freeBytes > this.#limit) this.#trim(batch, this.#mostFree());
    this.#recorded = batch;
    if (this.#freeBytes > this.#idleBytes) this.#awaitIdle();
  }

  /** Most bytes to hold for reuse while commands are submitted. */
  #mostFree(): number {
    return Math.max(this.#limit, Math.max(this.#peak, this.#peakBefore) - this.#usedBytes);
  }

  /** Lets all but a little memory go once nothing has been submitted for a while. */
  #awaitIdle(): void {
    if (this.#idleTimer !== undefined) return;
    const seen = this.#submissions;
    this.#idleTimer = laterAtMost(() => {
      this.#idleTimer = undefined;
      if (this.#freeBytes <= this.#idleBytes) return;
      if (this.#submissions !== seen) return this.#awaitIdle();
      this.#peak = this.#peakBefore = this.#usedBytes;
      this.#trim(this.#recorded, this.#idleBytes);
    }, IDLE_MS);
  }

  /** Destroys the longest unused buffers until no more than `most` bytes are free. */
  #trim(batch: number, most: number): void {
    if (this.#freeBytes <= most) return;
    const free = this.#free();
    // Mostly one buffer is too many, and no order of all is needed.
    this.#drop(free.reduce((a, b) => (b.batch < a.batch ? b : a)), batch);
    if (this.#freeBytes <= most) return;
    for (const oldest of free.filter((b) => b.isFree).sort((a, b) => a.batch - b.batch)) {
      if (this.#freeBytes <= most) return;
      this.#drop(oldest, batch);
    }
  }

  /** Destroys a free buffer, or lets it wait for the recorded commands of `batch` that use it. */
  #drop(buffer: PooledBuffer, batch: number): void {
    buffer.isFree = false;
    this.#freeBytes -= buffer.bytes;
    if (buffer.batch === batch) this.#doomed.push(buffer);
    else this.#destroy(buffer);
  }

  /** All free buffers. What is destroyed stays in its list until its turn comes. */
  #free(): PooledBuffer[] {
    const lists = [...this.#classes.values()].map(({ list }) => list.entries);
    return [...lists, ...this.#uploads.values()].flatMap((list) => list.filter((b) => b.isFree));
  }

  /** Destroys the buffers that waited for recorded commands to be submitted, and what is no longer needed. */
  submitted(): void {
    this.#recorded = -1;
    for (const buffer of this.#doomed.splice(0)) this.#destroy(buffer);
    if (++this.#submissions % WINDOW !== 0) return;
    this.#peakBefore = this.#peak;
    this.#peak = this.#usedBytes;
    this.#trim(-1, this.#mostFree());
  }

  #destroy(buffer: PooledBuffer): void {
    this.#live--;
    this.#onDestroy(buffer.id);
    buffer.gpu.destroy();
  }
}
