/** The stream of commands: dispatches recorded into one open pass, submitted in batches that grow. */
import type { DeviceCounters } from "../../core/device.ts";
import { traced, tracer } from "../../core/trace.ts";
import type { Launch } from "./launch.ts";
import { ParamsRing } from "./params_ring.ts";
import type { Pipeline } from "./pipelines.ts";
import { Timestamps } from "./timestamps.ts";

/** Dispatches in the first batch after a wait, and in the largest. */
const FIRST_BATCH = 16, MAX_BATCH = 256;
const MAX_BATCH_BYTES = 256 * 2 ** 20;

/** Records the commands of a device, in order. */
export class Stream {
  readonly params: ParamsRing;
  readonly #device: GPUDevice;
  readonly #counters: DeviceCounters;
  readonly #onSubmit: () => void;
  #encoder: GPUCommandEncoder | null = null;
  #pass: GPUComputePassEncoder | null = null;
  #pipelineInPass: Pipeline | null = null;
  readonly #offset = new Uint32Array(1);
  #timestamps: Timestamps | null = null;
  #batch = 0;
  #recorded = 0;
  #recordedBytes = 0;
  #limit = FIRST_BATCH;

  /** `onSubmit` is called after each submission. */
  constructor(device: GPUDevice, counters: DeviceCounters, onSubmit: () => void) {
    this.#device = device;
    this.#counters = counters;
    this.#onSubmit = onSubmit;
    this.params = new ParamsRing(device, () => this.flush());
  }

  get batch(): number {
    return this.#batch;
  }

  /** Records a dispatch on buffers of so many bytes together, and returns the number of its batch. */
  dispatch(launch: Launch, group: GPUBindGroup, bytes: number): number {
    if (tracer === null) return this.#dispatch(launch, group, bytes);
    // While a listener traces, each dispatch is a pass of its own, so that it can be timed.
    const { grid, program: { name } } = launch.dispatch;
    this.#endPass();
    this.#timestamps ??= Timestamps.of(this.#device);
    const timestampWrites = this.#timestamps?.next(name);
    this.#openPass(timestampWrites && { timestampWrites });
    return traced({ name, category: "dispatch", details: { workgroups: grid } }, () => {
      const batch = this.#dispatch(launch, group, bytes);
      this.#endPass();
      return batch;
    });
  }

  #dispatch(launch: Launch, group: GPUBindGroup, bytes: number): number {
    const { pipeline, grid, hasParams } = launch;
    // Before the pass is opened: a full ring submits the recorded commands.
    if (hasParams) this.#offset[0] = this.params.resolve(launch.slot, launch.key, launch.words);
    const pass = this.#pass ?? this.#openPass(), batch = this.#batch;
    if (this.#pipelineInPass !== pipeline) {
      pass.setPipeline(pipeline.gpu);
      this.#pipelineInPass = pipeline;
    }
    // A typed array with its range costs the runtime much less than a list of numbers.
    if (hasParams) pass.setBindGroup(0, group, this.#offset, 0, 1);
    else pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(grid[0], grid[1], grid[2]);
    this.#counters.dispatches++;
    this.#recordedBytes += bytes;
    if (++this.#recorded >= this.#limit || this.#recordedBytes > MAX_BATCH_BYTES) {
      this.flush();
      this.#limit = Math.min(MAX_BATCH, this.#limit * 2);
    }
    return batch;
  }

  #openPass(descriptor?: GPUComputePassDescriptor): GPUComputePassEncoder {
    this.#encoder ??= this.#device.createCommandEncoder();
    return this.#pass = this.#encoder.beginComputePass(descriptor);
  }

  #endPass(): void {
    this.#pass?.end();
    this.#pass = null;
    this.#pipelineInPass = null;
  }

  flush(): void {
    if (this.#encoder) this.submit();
  }

  /** Is {@linkcode Stream.submit} for copies to the host: the wait for them begins with small batches again. */
  submitRead(record: (encoder: GPUCommandEncoder) => void): void {
    this.submit(record);
    this.#limit = FIRST_BATCH;
  }

  /** Records another command than a dispatch and submits it with all before it. */
  submit(record?: (encoder: GPUCommandEncoder) => void): void {
    this.#endPass();
    const encoder = this.#encoder ?? this.#device.createCommandEncoder();
    this.#encoder = null;
    record?.(encoder);
    const timed = this.#timestamps?.resolve(encoder);
    this.#device.queue.submit([encoder.finish()]);
    timed?.submitted();
    this.#counters.submits++;
    this.#batch++;
    this.#recorded = 0;
    this.#recordedBytes = 0;
    this.#onSubmit();
  }

  /** Reports the measured times of dispatches to {@linkcode tracer}. */
  async settleTrace(): Promise<void> {
    const timestamps = this.#timestamps;
    if (timestamps === null) return;
    this.flush();
    this.#timestamps = null;
    for (const span of await timestamps.collect()) tracer?.(span);
    timestamps.destroy();
  }
}
