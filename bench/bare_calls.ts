// What WebGPU's own calls cost the host: a chain of dispatches recorded as Weft records them, with nothing around the calls.
// No library can record the chain for less.

import { queueWaiter } from "./gpu_wait.ts";

/** Dispatches in the first command buffer after a wait, and in the largest. */
const FIRST = 16, MOST = 256;

/** Records chains of dispatches that read two small buffers and write one. */
export class BareCalls {
  readonly #device: GPUDevice;
  readonly #pipeline: GPUComputePipeline;
  /** In turns each reads what the other writes. */
  readonly #groups: readonly GPUBindGroup[];
  readonly #offset = new Uint32Array(1);
  readonly #waitForQueue: () => Promise<void>;
  #encoder: GPUCommandEncoder | null = null;
  #pass: GPUComputePassEncoder | null = null;
  #recorded = 0;
  #limit = FIRST;

  private constructor(device: GPUDevice) {
    this.#device = device;
    this.#waitForQueue = queueWaiter(device);
    const types = ["read-only-storage", "read-only-storage", "storage", "uniform"] as const;
    const layout = device.createBindGroupLayout({
      entries: types.map((type, binding) => ({
        binding,
        visibility: GPUShaderStage.COMPUTE,
        buffer: { type, hasDynamicOffset: type === "uniform" },
      })),
    });
    const code = `
      @group(0) @binding(0) var<storage, read> x: array<f32>;
      @group(0) @binding(1) var<storage, read> w: array<f32>;
      @group(0) @binding(2) var<storage, read_write> y: array<f32>;
      @group(0) @binding(3) var<uniform> p: vec4<u32>;
      @compute @workgroup_size(1) fn main() { y[p.x] = x[0] * w[0]; }`;
    this.#pipeline = device.createComputePipeline({
      layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module: device.createShaderModule({ code }), entryPoint: "main" },
    });
    const make = (usage: number): GPUBuffer => device.createBuffer({ size: 256, usage });
    const [a, b, w] = [1, 2, 3].map(() => make(GPUBufferUsage.STORAGE));
    const params = make(GPUBufferUsage.UNIFORM);
    this.#groups = [[a, w, b, params], [b, w, a, params]].map((buffers) =>
      device.createBindGroup({
        layout,
        entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer: buffer! } })),
      })
    );
  }

  /** On a device of its own. Throws where there is none. */
  static async create(): Promise<BareCalls> {
    const adapter = await navigator.gpu.requestAdapter();
    if (adapter === null) throw new Error("Cannot record: there is no adapter");
    return new BareCalls(await adapter.requestDevice());
  }

  /** Records so many dispatches. */
  record(length: number): void {
    for (let i = 0; i < length; i++) {
      if (this.#pass === null) {
        this.#encoder = this.#device.createCommandEncoder();
        this.#pass = this.#encoder.beginComputePass();
        this.#pass.setPipeline(this.#pipeline);
      }
      this.#pass.setBindGroup(0, this.#groups[i & 1]!, this.#offset, 0, 1);
      this.#pass.dispatchWorkgroups(1, 1, 1);
      if (++this.#recorded < this.#limit) continue;
      this.#flush();
      this.#limit = Math.min(MOST, this.#limit * 2);
    }
  }

  #flush(): void {
    if (this.#encoder === null) return;
    this.#pass!.end();
    this.#device.queue.submit([this.#encoder.finish()]);
    this.#encoder = this.#pass = null;
    this.#recorded = 0;
  }

  /** Waits for what was recorded. */
  async wait(): Promise<void> {
    this.#flush();
    this.#limit = FIRST;
    await this.#waitForQueue();
  }

  /** Frees the device. */
  free(): void {
    this.#device.destroy();
  }
}
