/** Timestamps: times of dispatches by the GPU's clock, converted to the host's. */
import type { Span } from "../../core/trace.ts";

/** Dispatches that one query set holds. */
const CAPACITY = 2048;
const BYTES = 8;

interface Batch {
  readonly names: readonly string[];
  readonly submitted: number;
  readonly staging: GPUBuffer;
  readonly mapped: Promise<void>;
}

export class Timestamps {
  readonly #device: GPUDevice;
  readonly #querySet: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  readonly #batches: Batch[] = [];
  #names: string[] = [];

  /** Makes timestamps, or returns null where the device has none. */
  static of(device: GPUDevice): Timestamps | null {
    return device.features.has("timestamp-query") ? new Timestamps(device) : null;
  }

  private constructor(device: GPUDevice) {
    this.#device = device;
    this.#querySet = device.createQuerySet({ type: "timestamp", count: 2 * CAPACITY });
    this.#resolved = device.createBuffer({
      size: 2 * CAPACITY * BYTES,
      usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC,
    });
  }

  /** Returns the writes of a pass for one dispatch; undefined where no room is left before the next submission. */
  next(name: string): GPUComputePassTimestampWrites | undefined {
    const i = this.#names.length;
    if (i === CAPACITY) return undefined;
    this.#names.push(name);
    return {
      querySet: this.#querySet,
      beginningOfPassWriteIndex: 2 * i,
      endOfPassWriteIndex: 2 * i + 1,
    };
  }

  /** Records the copy of the written timestamps; call `submitted` after the submission. */
  resolve(encoder: GPUCommandEncoder): { submitted(): void } | null {
    const names = this.#names;
    if (names.length === 0) return null;
    this.#names = [];
    const size = 2 * names.length * BYTES;
    const staging = this.#device.createBuffer({
      size,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
    encoder.resolveQuerySet(this.#querySet, 0, 2 * names.length, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, staging, 0, size);
    return {
      submitted: () => {
        const submitted = performance.now();
        const mapped = staging.mapAsync(GPUMapMode.READ);
        mapped.catch(() => {});
        this.#batches.push({ names, submitted, staging, mapped });
      },
    };
  }

  /**
   * Returns the spans of all submitted dispatches. The clocks are aligned so that none begins before its submission.
   */
  async collect(): Promise<Span[]> {
    const batches = this.#batches.splice(0);
    const read: { names: readonly string[]; submitted: number; times: number[] }[] = [];
    for (const { names, submitted, staging, mapped } of batches) {
      await mapped;
      const raw = new BigUint64Array(staging.getMappedRange());
      read.push({ names, submitted, times: Array.from(raw, (t) => Number(t) / 1e6) });
      staging.unmap();
      staging.destroy();
    }
    const offset = Math.max(...read.map(({ submitted, times }) => submitted - times[0]));
    return read.flatMap(({ names, times }) =>
      names.map((name, i): Span => ({
        name,
        category: "dispatch",
        start: times[2 * i] + offset,
        end: times[2 * i + 1] + offset,
        track: "gpu",
      }))
    );
  }

  destroy(): void {
    this.#querySet.destroy();
    this.#resolved.destroy();
  }
}
