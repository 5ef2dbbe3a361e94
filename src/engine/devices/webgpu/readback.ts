/**
 * Device-to-host copies: all buffers of one request in one staging copy, synchronously where the runtime allows, else
 * through canvases for callers that cannot wait.
 */
import type { DeviceCounters } from "../../core/device.ts";
import { ResourceExhaustedError } from "../../core/errors.ts";
import { CanvasReadback } from "./canvas_readback.ts";
import { lossError } from "./device_errors.ts";

export interface ReadRange {
  readonly buffer: GPUBuffer;
  /** Bytes, a multiple of 4. */
  readonly bytes: number;
}

/** Reads buffers through mapped staging memory. */
export class Readback {
  readonly #device: GPUDevice;
  readonly #counters: DeviceCounters;
  readonly #submit: (record: (encoder: GPUCommandEncoder) => void) => void;
  readonly #free: GPUBuffer[] = [];
  readonly #sync: boolean;
  /** Undefined until a caller cannot wait. */
  #canvas: CanvasReadback | null | undefined;
  #latencyMs = 1;

  /** `submit` records copies after all work so far and submits. */
  constructor(
    device: GPUDevice,
    counters: DeviceCounters,
    submit: (record: (encoder: GPUCommandEncoder) => void) => void,
  ) {
    this.#device = device;
    this.#counters = counters;
    this.#submit = submit;
    this.#sync = probeSyncMap(device, (ms) => this.#latencyMs = ms);
  }

  /** Milliseconds of a readback, however small: those of the first map where it must be awaited. */
  get latencyMs(): number {
    return this.#sync ? SYNC_MS : this.#latencyMs;
  }

  /** True where {@linkcode Readback.readSync} maps memory. */
  get canSync(): boolean {
    return this.#sync;
  }

  /** True where {@linkcode Readback.readSync} works through canvases, which costs much more than waiting. */
  get canDraw(): boolean {
    if (this.#canvas === undefined) this.#canvas = CanvasReadback.of(this.#device);
    return this.#canvas !== null;
  }

  /**
   * Reads synchronously, or returns null where the runtime cannot. Throws `UnavailableError` where it could before:
   * then the device is about to be reported lost.
   */
  readSync(ranges: readonly ReadRange[]): ArrayBuffer[] | null {
    if (!this.#sync) return this.canDraw ? this.#draw(this.#canvas!, ranges) : null;
    const { staging, offsets, total } = this.#copy(ranges);
    staging.mapAsync(GPUMapMode.READ, 0, total).catch(() => {});
    let bytes: ArrayBuffer;
    try {
      bytes = staging.getMappedRange(0, total);
    } catch (cause) {
      const { message } = cause as Error;
      throw lossError(`a copy cannot be mapped, ${message}`, cause);
    }
    return this.#finish(staging, bytes, ranges, offsets);
  }

  #draw(canvas: CanvasReadback, ranges: readonly ReadRange[]): ArrayBuffer[] {
    hintOnce();
    this.#submit(() => {});
    this.#count(ranges);
    return ranges.map(({ buffer, bytes }) => canvas.read(buffer, bytes));
  }

  async read(ranges: readonly ReadRange[]): Promise<ArrayBuffer[]> {
    const { staging, offsets, total } = this.#copy(ranges);
    await staging.mapAsync(GPUMapMode.READ, 0, total);
    return this.#finish(staging, staging.getMappedRange(0, total), ranges, offsets);
  }

  #copy(ranges: readonly ReadRange[]): { staging: GPUBuffer; offsets: number[]; total: number } {
    const offsets: number[] = [];
    let total = 0;
    for (const r of ranges) {
      offsets.push(total);
      total += Math.ceil(r.bytes / 8) * 8;
    }
    const staging = this.#take(total);
    // Mapping without a submit in between can read stale data (wgpu 29), so the copy is always submitted first.
    this.#submit((encoder) => {
      ranges.forEach((r, i) => {
        if (r.bytes > 0) {
          encoder.copyBufferToBuffer(r.buffer, 0, staging, offsets[i], r.bytes);
        }
      });
    });
    this.#count(ranges);
    return { staging, offsets, total };
  }

  #count(ranges: readonly ReadRange[]): void {
    this.#counters.readbacks++;
    this.#counters.bytesToHost += ranges.reduce((n, r) => n + r.bytes, 0);
  }

  #finish(
    staging: GPUBuffer,
    mapped: ArrayBuffer,
    ranges: readonly ReadRange[],
    offsets: readonly number[],
  ): ArrayBuffer[] {
    const out = ranges.length === 1
      ? [detach(mapped, ranges[0].bytes)]
      : ranges.map((r, i) => mapped.slice(offsets[i], offsets[i] + r.bytes));
    staging.unmap();
    this.#free.push(staging);
    return out;
  }

  #take(bytes: number): GPUBuffer {
    const size = Math.max(4096, 2 ** Math.ceil(Math.log2(Math.max(1, bytes))));
    const i = this.#free.findIndex((buffer) => buffer.size === size);
    if (i >= 0) return this.#free.splice(i, 1)[0];
    this.#counters.buffersCreated++;
    try {
      return mappable(this.#device, size);
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw lossError("it makes no more buffers", cause);
      const message = `Cannot make a buffer of ${size} bytes to read GPU memory`;
      throw new ResourceExhaustedError(message, { cause });
    }
  }
}

/**
 * Makes a mappable buffer. Deno aborts when a buffer that was never mapped is read synchronously: it is mapped at
 * creation.
 */
export function mappable(device: GPUDevice, size: number): GPUBuffer {
  const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
  const buffer = device.createBuffer({ size, usage, mappedAtCreation: true });
  buffer.unmap();
  return buffer;
}

/**
 * Takes mapped memory over. Deno returns its own copy, which `transfer` takes without copying; browsers refuse, and the
 * range dies at unmap.
 */
function detach(mapped: ArrayBuffer, bytes: number): ArrayBuffer {
  if (CAN_TRANSFER && mapped.byteLength === bytes) return mapped.transfer();
  return mapped.slice(0, bytes);
}

const CAN_TRANSFER = ((): boolean => {
  const version = (globalThis as { Deno?: { version?: { deno?: string } } }).Deno?.version?.deno;
  if (!version) return false;
  const [major, minor, patch] = version.split(/[.+-]/).map(Number);
  return major > 2 || (major === 2 && (minor > 9 || (minor === 9 && patch >= 5)));
})();

let isHinted = false;

function hintOnce(): void {
  if (isHinted) return;
  isHinted = true;
  console.warn(
    "GPU memory is read synchronously, which stops the page and draws on a canvas: await data() is faster",
  );
}

/** Milliseconds of a readback without an await. */
const SYNC_MS = 0.1;

/** True where `mapAsync` has already mapped when it returns: Deno. Elsewhere `tell` gets its duration. */
function probeSyncMap(device: GPUDevice, tell: (ms: number) => void): boolean {
  const buffer = mappable(device, 16);
  device.queue.submit([]);
  const started = performance.now();
  const mapping = buffer.mapAsync(GPUMapMode.READ);
  try {
    buffer.getMappedRange();
    mapping.catch(() => {});
    buffer.unmap();
    buffer.destroy();
    return true;
  } catch {
    mapping.then(() => {
      tell(performance.now() - started);
      buffer.destroy();
    }, () => {});
    return false;
  }
}
