// Weft's own device, for running plans by force and timing them.

import { NdArray, setBackend } from "@weft/weft";
import type { DeviceBuffer, PreparedKernel } from "../../src/engine/core/device.ts";
import type { GpuPlan } from "../../src/engine/core/dispatch.ts";
import type { ConcreteSpec } from "../../src/engine/core/tensor_spec.ts";
import type { WebGpuDevice } from "../../src/engine/devices/webgpu/webgpu_device.ts";
import { gpuDevice as ownDevice } from "../../src/engine/runtime/devices/devices.ts";

/** Finds Weft's GPU. Throws where there is none. */
export async function hasGpu(): Promise<void> {
  if (!await setBackend("webgpu")) throw new Error("Cannot start Weft on WebGPU");
}

/** Weft's GPU, once `hasGpu` has found it. */
export function gpuDevice(): WebGpuDevice {
  return ownDevice() as WebGpuDevice;
}

/** The times of a plan. */
export interface PlanTime {
  /** Least and middle time of a run, in milliseconds. */
  readonly best: number;
  readonly median: number;
  /** The first run: compiling, mostly. */
  readonly first: number;
}

/** Calls in a sample, at most. */
const MOST_CALLS = 1000;
/** Milliseconds of work before the clock starts: a GPU that waited for a compiler has slowed down. */
const WARM_MS = 10;

/** Times what `run` records, and `wait` waits for: samples of about `sampleMs`, so that the wait does not count. */
export function timeRuns(
  run: () => void,
  wait: () => void,
  { sampleMs = 15, rounds = 3 }: { readonly sampleMs?: number; readonly rounds?: number } = {},
): PlanTime {
  const sample = (calls: number): number => {
    const started = performance.now();
    for (let i = 0; i < calls; i++) run();
    wait();
    return (performance.now() - started) / calls;
  };
  const first = sample(1), started = performance.now();
  while (performance.now() - started < WARM_MS) sample(3);
  // A few at once to begin with: the wait counts in full where there is one call.
  const guess = Math.min(sample(1), sample(3));
  const calls = Math.max(1, Math.min(MOST_CALLS, Math.round(sampleMs / guess)));
  const times = Array.from({ length: rounds }, () => sample(calls)).sort((a, b) => a - b);
  return { best: times[0]!, median: times[times.length >> 1]!, first };
}

/** Runs plans on buffers of the device. */
export class PlanRunner {
  readonly #device: WebGpuDevice = gpuDevice();
  readonly #inputs: readonly (DeviceBuffer | undefined)[];
  readonly #outputs: readonly ConcreteSpec[];

  /** Uploads the inputs; those that the host reads are `undefined`. */
  constructor(inputs: readonly (NdArray | undefined)[], outputs: readonly ConcreteSpec[]) {
    this.#inputs = inputs.map((a) => a && this.#device.upload(a));
    this.#outputs = outputs;
  }

  /** Times a plan. Throws where WebGPU refuses it. */
  time(plan: GpuPlan, options: Parameters<typeof timeRuns>[2] = {}): PlanTime {
    const kernel = this.#device.prepareKernel("trial", plan, this.#outputs);
    let last: DeviceBuffer[] = [];
    const run = (): void => {
      this.#free(last);
      last = kernel.run(this.#inputs);
    };
    const wait = (): void => {
      const spec = { dtype: "uint32", shape: [1] } as const;
      if (this.#device.readSync([{ buffer: last[0]!, spec }]) === null) {
        throw new Error("Cannot wait for the GPU");
      }
    };
    const time = timeRuns(run, wait, options);
    this.#free(last);
    this.#device.check();
    return time;
  }

  /** Runs a plan once and reads its results. */
  read(plan: GpuPlan): NdArray[] {
    const kernel: PreparedKernel = this.#device.prepareKernel("trial", plan, this.#outputs);
    const buffers = kernel.run(this.#inputs);
    const reads = buffers.map((buffer, i) => ({ buffer, spec: this.#outputs[i]! }));
    const arrays = this.#device.readSync(reads);
    this.#free(buffers);
    if (arrays === null) throw new Error("Cannot wait for the GPU");
    return arrays;
  }

  /** Frees the inputs. */
  free(): void {
    this.#free(this.#inputs.filter((buffer) => buffer !== undefined));
  }

  #free(buffers: readonly DeviceBuffer[]): void {
    for (const buffer of buffers) this.#device.free(buffer);
  }
}

/** Numbers between -1 and 1: a short list again and again, so that hundreds of megabytes take no time. */
export function numbers(shape: readonly number[]): NdArray {
  const size = shape.reduce((a, b) => a * b, 1);
  const data = new Float32Array(size), period = Math.min(size, 65521);
  for (let i = 0; i < period; i++) data[i] = ((i * 7919) % 65521) / 32760 - 1;
  for (let done = period; done < size; done *= 2) {
    data.copyWithin(done, 0, Math.min(done, size - done));
  }
  return new NdArray("float32", [...shape], data);
}
