// What the GPU gives at most: bytes copied and multiply-adds done by programs that do nothing else. All else is held against it.

import { queueWaiter } from "../gpu_wait.ts";
import type { Recorder } from "./record.ts";
import type { Setting } from "./measure.ts";

const MIB = 2 ** 20;
const WORKGROUP = 256;
/** Times each program is timed. */
const ROUNDS = 5;
/** Milliseconds of a sample, at least. */
const SAMPLE_MS = 20;
/** Chains of multiply-adds of an invocation: the best of these counts is the limit. */
const CHAINS = [2, 4, 8, 12];
/** Multiply-adds of a chain in a turn of the loop. */
const UNROLLED = 16;

/** Middle time of a call in milliseconds. */
async function timeOf(record: (calls: number) => void, wait: () => Promise<void>): Promise<number> {
  const sample = async (calls: number): Promise<number> => {
    const started = performance.now();
    record(calls);
    await wait();
    return (performance.now() - started) / calls;
  };
  await sample(1);
  const guess = await sample(4);
  const calls = Math.max(1, Math.min(500, Math.round(SAMPLE_MS / guess)));
  const times: number[] = [];
  for (let i = 0; i < ROUNDS; i++) times.push(await sample(calls));
  return times.sort((a, b) => a - b)[ROUNDS >> 1]!;
}

async function openDevice(): Promise<GPUDevice> {
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  if (adapter === null) throw new Error("Cannot find an adapter");
  const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
  const requiredFeatures = (["shader-f16"] as const).filter((f) => adapter.features.has(f));
  return await adapter.requestDevice({
    requiredFeatures,
    requiredLimits: { maxBufferSize, maxStorageBufferBindingSize },
  });
}

/** A kernel of one dispatch over `buffers`, ready to be recorded. */
async function kernelOf(
  device: GPUDevice,
  code: string,
  buffers: readonly { readonly buffer: GPUBuffer; readonly size?: number }[],
): Promise<(groups: number, calls: number) => void> {
  device.pushErrorScope("validation");
  const module = device.createShaderModule({ code });
  const compute = { module, entryPoint: "main" };
  const pipeline = device.createComputePipeline({ layout: "auto", compute });
  const error = await device.popErrorScope();
  if (error !== null) throw new Error(error.message);
  const group = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: buffers.map((resource, binding) => ({ binding, resource })),
  });
  return (groups, calls) => {
    const encoder = device.createCommandEncoder(), pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    const x = Math.min(groups, 32768);
    for (let i = 0; i < calls; i++) pass.dispatchWorkgroups(x, Math.ceil(groups / x));
    pass.end();
    device.queue.submit([encoder.finish()]);
  };
}

const COPY = `@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;
@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(workgroup_id) w: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let i = (w.x + w.y * n.x) * ${WORKGROUP}u + l;
  if (i < arrayLength(&y)) { y[i] = x[i]; }
}`;

/** Both ways of copying so many bytes, in bytes read and written a second. */
async function copyRates(device: GPUDevice, bytes: number): Promise<Record<string, number>> {
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const [from, to] = [0, 1].map(() => device.createBuffer({ size: bytes, usage }));
  const wait = queueWaiter(device);
  const rates: Record<string, number> = {};
  try {
    const rate = (ms: number): number => Number((2 * bytes / ms / 1e6).toPrecision(4));
    rates.copyBufferToBuffer = rate(
      await timeOf((calls) => {
        const encoder = device.createCommandEncoder();
        for (let i = 0; i < calls; i++) encoder.copyBufferToBuffer(from!, 0, to!, 0, bytes);
        device.queue.submit([encoder.finish()]);
      }, wait),
    );
    if (bytes <= device.limits.maxStorageBufferBindingSize) {
      const run = await kernelOf(device, COPY, [{ buffer: from! }, { buffer: to! }]);
      const groups = Math.ceil(bytes / 16 / WORKGROUP);
      rates.kernel = rate(await timeOf((calls) => run(groups, calls), wait));
    }
    return rates;
  } finally {
    from!.destroy();
    to!.destroy();
  }
}

/** A loop of multiply-adds on registers; what it reads keeps a compiler from knowing what comes. */
function productLoop(type: string, chains: number): string {
  const names = Array.from({ length: chains }, (_, i) => `s${i}`);
  const scalar = type === "vec4<f16>" ? "f16" : "f32";
  return `${scalar === "f16" ? "enable f16;\n" : ""}
@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;
@compute @workgroup_size(${WORKGROUP})
fn main(@builtin(global_invocation_id) g: vec3<u32>) {
  let a = ${type}(x[g.x & 15u]); let b = ${type}(x[(g.x + 1u) & 15u]); let turns = u32(x[16].x);
  ${names.map((name, i) => `var ${name} = a * ${type}(${scalar}(${i}));`).join(" ")}
  for (var t = 0u; t < turns; t++) {
    ${
    Array.from({ length: UNROLLED }, () => names.map((s) => `${s} = fma(${s}, a, b);`).join(" "))
      .join("\n    ")
  }
  }
  y[g.x] = vec4<f32>(${names.join(" + ")});
}`;
}

/** Multiplications and additions a second, in 1e9. */
async function productRate(
  device: GPUDevice,
  { type, chains, small }: {
    readonly type: string;
    readonly chains: number;
    readonly small: boolean;
  },
): Promise<number> {
  const groups = small ? 64 : 8192, turns = small ? 16 : 256;
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST;
  const x = device.createBuffer({ size: 17 * 16, usage });
  const y = device.createBuffer({ size: 16 * WORKGROUP * groups, usage });
  const values = Float32Array.from({ length: 17 * 4 }, (_, i) => 0.5 + (i % 7) / 100);
  values[64] = turns;
  device.queue.writeBuffer(x, 0, values);
  try {
    const run = await kernelOf(device, productLoop(type, chains), [{ buffer: x }, { buffer: y }]);
    const ms = await timeOf((calls) => run(groups, calls), queueWaiter(device));
    const flop = 2 * 4 * chains * UNROLLED * turns * WORKGROUP * groups;
    return Number((flop / ms / 1e6).toPrecision(4));
  } finally {
    x.destroy();
    y.destroy();
  }
}

/** Measures copies of several sizes and multiply-adds of both dtypes. */
export async function limitsPart(record: Recorder, { small }: Setting): Promise<void> {
  const device = await openDevice();
  for (const type of ["vec4<f32>", "vec4<f16>"]) {
    if (type === "vec4<f16>" && !device.features.has("shader-f16")) continue;
    await record.attempt(
      `GFLOP/s of ${type}`,
      async () => {
        const rates: number[] = [];
        for (const chains of CHAINS) rates.push(await productRate(device, { type, chains, small }));
        return { rate: Math.max(...rates), rates };
      },
    );
  }
  for (const mib of small ? [1] : [64, 256, 1024, 16, 4, 1]) {
    if (mib * MIB > device.limits.maxBufferSize) continue;
    await record.attempt(`GB/s of ${mib} MiB`, () => copyRates(device, mib * MIB));
  }
  device.destroy();
}
