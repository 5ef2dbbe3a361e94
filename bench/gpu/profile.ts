// Where the time of a step goes: what a dispatch, a submission and a readback cost on this machine, what the host does in a
// step and what the GPU, and whether memory stays as it is over ten thousand of them.

import * as tf from "@weft/weft";
import type { DeviceCounters } from "../../src/engine/core/device.ts";
import { queueWaiter } from "../gpu_wait.ts";
import { createWeftPeer, type Weft, type WeftPeer } from "../peers/weft.ts";
import type { Case, Output, Row } from "../row.ts";
import { PROCESS_ROWS } from "../rows/one_process.ts";
import { gpuDevice, hasGpu, numbers } from "./device.ts";
import type { Setting } from "./measure.ts";
import type { Recorder } from "./record.ts";

const round = (n: number): number => Number(n.toPrecision(4));

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

/** Median milliseconds of what is called so often. */
async function timed(times: number, fn: () => unknown): Promise<number> {
  const list: number[] = [];
  for (let i = 0; i < times + 2; i++) {
    const started = performance.now(), result = fn();
    if (result instanceof Promise) await result;
    if (i >= 2) list.push(performance.now() - started);
  }
  return round(median(list));
}

const TOUCH = `@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) { y[i] = x[i] + 1.0; }`;

/** Measures the cost of dispatches, passes, submissions and objects of WebGPU, in microseconds. */
export async function dispatchPart(record: Recorder, { small }: Setting): Promise<void> {
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  if (adapter === null) throw new Error("Cannot find an adapter");
  const requiredFeatures = (["timestamp-query"] as const).filter((f) => adapter.features.has(f));
  const device = await adapter.requestDevice({ requiredFeatures });
  const wait = queueWaiter(device), usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST;
  const compute = { module: device.createShaderModule({ code: TOUCH }), entryPoint: "main" };
  const pipeline = device.createComputePipeline({ layout: "auto", compute });
  const layout = pipeline.getBindGroupLayout(0);
  const buffers = Array.from({ length: 64 }, () => device.createBuffer({ size: 256, usage }));
  const group = (from: GPUBuffer, to: GPUBuffer): GPUBindGroup =>
    device.createBindGroup({
      layout,
      entries: [from, to].map((buffer, binding) => ({ binding, resource: { buffer } })),
    });
  const [a, b] = buffers as [GPUBuffer, GPUBuffer];
  // Each reads what the one before wrote; or each has buffers of its own.
  const chained = [group(a, b), group(b, a)];
  const apart = Array.from({ length: 32 }, (_, i) => group(buffers[2 * i]!, buffers[2 * i + 1]!));
  const recordPass = (groups: readonly GPUBindGroup[], count: number): void => {
    const encoder = device.createCommandEncoder(), pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    for (let i = 0; i < count; i++) {
      pass.setBindGroup(0, groups[i % groups.length]!);
      pass.dispatchWorkgroups(1);
    }
    pass.end();
    device.queue.submit([encoder.finish()]);
  };
  for (const [name, groups] of [["dependent", chained], ["independent", apart]] as const) {
    for (const count of small ? [16, 64] : [1, 16, 256, 4096]) {
      await record.attempt(`${count} ${name} dispatches in a pass`, async () => {
        const recording = await timed(9, () => recordPass(groups, count));
        await wait();
        const all = await timed(9, async () => {
          recordPass(groups, count);
          await wait();
        });
        return { usToRecordEach: round(1000 * recording / count), msWithWait: all };
      });
    }
  }
  await record.attempt("one dispatch a submission", async () => {
    const count = small ? 10 : 400;
    return {
      usEach: round(
        1000 / count * await timed(5, async () => {
          for (let i = 0; i < count; i++) recordPass(chained, 1);
          await wait();
        }),
      ),
    };
  });
  const calls: Record<string, () => unknown> = {
    createBindGroup: () => group(a, b),
    createBuffer: () => device.createBuffer({ size: 4096, usage }).destroy(),
    "createBuffer of 64 MiB": () => device.createBuffer({ size: 2 ** 26, usage }).destroy(),
    "writeBuffer of 256 B": () => device.queue.writeBuffer(a, 0, new Uint8Array(256)),
    "empty submission": () => device.queue.submit([]),
    "wait for an idle queue": wait,
  };
  for (const [name, fn] of Object.entries(calls)) {
    await record.attempt(
      name,
      async () => ({ us: round(1000 * await timed(small ? 5 : 101, fn)) }),
    );
  }
  if (device.features.has("timestamp-query")) {
    await record.attempt(
      "gaps between passes by timestamps",
      () => gaps(device, { pipeline, group: chained[0]! }),
    );
  }
  device.destroy();
}

/** Nanoseconds that a pass of one small dispatch takes, and from one to the next. */
async function gaps(
  device: GPUDevice,
  { pipeline, group }: { readonly pipeline: GPUComputePipeline; readonly group: GPUBindGroup },
): Promise<unknown> {
  const passes = 64, size = 16 * passes;
  const querySet = device.createQuerySet({ type: "timestamp", count: 2 * passes });
  const resolved = device.createBuffer({
    size,
    usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC,
  });
  const staging = device.createBuffer({
    size,
    usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
  });
  const encoder = device.createCommandEncoder();
  for (let i = 0; i < passes; i++) {
    const pass = encoder.beginComputePass({
      timestampWrites: {
        querySet,
        beginningOfPassWriteIndex: 2 * i,
        endOfPassWriteIndex: 2 * i + 1,
      },
    });
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(1);
    pass.end();
  }
  encoder.resolveQuerySet(querySet, 0, 2 * passes, resolved, 0);
  encoder.copyBufferToBuffer(resolved, 0, staging, 0, size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const times = Array.from(new BigUint64Array(staging.getMappedRange()), Number);
  const pairs = Array.from({ length: passes - 1 }, (_, i) => i);
  return {
    ns: median(pairs.map((i) => times[2 * i + 1]! - times[2 * i]!)),
    nsToNext: median(pairs.map((i) => times[2 * i + 2]! - times[2 * i + 1]!)),
  };
}

/** Bytes up and down, at once and awaited. */
export async function readbackPart(record: Recorder, { small }: Setting): Promise<void> {
  await hasGpu();
  const device = gpuDevice();
  for (const bytes of [4, 4096, 2 ** 20, 2 ** 24, 2 ** 28].slice(0, small ? 3 : 5)) {
    const array = numbers([bytes / 4]), spec = { dtype: "float32", shape: array.shape } as const;
    const times = bytes > 2 ** 22 ? 5 : 51;
    await record.attempt(`${bytes} bytes`, async () => {
      const buffer = device.upload(array);
      // What was uploaded small is known to the host: a copy is not.
      const copy = device.copyIn(device.lend(buffer), spec), reads = [{ buffer: copy, spec }];
      const up = await timed(times, () => device.free(device.upload(array)));
      const down = await timed(times, () => device.readSync(reads));
      const awaited = await timed(5, () => device.read(reads));
      device.free(buffer);
      device.free(copy);
      const rate = (ms: number): number => round(bytes / ms / 1e6);
      return { uploadMs: up, readMs: down, awaitedMs: awaited, readGBs: rate(down) };
    });
  }
}

/** Rows that are steps of models, and the chain that costs nothing but its dispatches. */
const STEPS = ["mlp_sgd", "mlp_adam", "cnn_step", "gpt_step", "mobilenet", "chain_400"];

function stepRows(small: boolean): Row[] {
  return PROCESS_ROWS.filter(({ id }) => (small ? ["mlp_adam"] : STEPS).includes(id));
}

/** Where spans by the GPU's own clock stand in a trace. */
const GPU_TRACK = 2;

type Column = "weft" | "weftFunction";

/** Calls a step and gives up what the one before left. */
function stepper(case_: Case): { step(): Promise<Output>; free(): void } {
  let last: Output | null = null;
  return {
    async step() {
      const output = case_.call(), next = output instanceof Promise ? await output : output;
      last?.dispose();
      return last = next;
    },
    free() {
      last?.dispose();
      case_.dispose?.();
    },
  };
}

/** Where the time of each model's step goes. */
export async function stepsPart(record: Recorder, { small }: Setting): Promise<void> {
  const peer = await createWeftPeer("webgpu", tf as unknown as Weft);
  for (const row of stepRows(small)) {
    for (const column of ["weftFunction", "weft"] as const) {
      await record.attempt(`${row.id}, ${column}`, () => stepOf(row, column, peer, small));
    }
  }
}

async function stepOf(row: Row, column: Column, peer: WeftPeer, small: boolean): Promise<unknown> {
  const { counters } = gpuDevice(), times = small ? 3 : 30;
  const { step, free } = stepper(await row[column]!(peer));
  const wait = async (): Promise<void> => await peer.finish(await step());
  try {
    for (let i = 0; i < 5; i++) await wait();
    const before: DeviceCounters = { ...counters };
    const hosts: number[] = [];
    for (let i = 0; i < times; i++) {
      const started = performance.now(), output = await step();
      hosts.push(performance.now() - started);
      await peer.finish(output);
    }
    // Of these, each wait is a dispatch, a submission and a readback of its own.
    const each = Object.fromEntries(
      Object.entries(before).map(([name, count]) => [
        name,
        round((counters[name as keyof DeviceCounters] - count) / times),
      ]),
    );
    const started = performance.now();
    let output: Output | null = null;
    for (let i = 0; i < times; i++) output = await step();
    const recorded = performance.now() - started;
    await peer.finish(output!);
    const wall = (performance.now() - started) / times;
    const { trace } = await tf.trace(() => wait());
    const spans = trace.traceEvents.filter((e) => e.cat === "dispatch" && e.tid === GPU_TRACK);
    const kernels = Object.entries(Object.groupBy(spans, ({ name }) => name))
      .map(([name, of]) => ({
        name,
        count: of!.length,
        us: round(of!.reduce((sum, e) => sum + (e.dur ?? 0), 0)),
      })).sort((x, y) => y.us - x.us);
    return {
      wallMs: round(wall),
      hostMs: round(median(hosts)),
      hostMsQueued: round(recorded / times),
      gpuMs: round(kernels.reduce((sum, { us }) => sum + us, 0) / 1000),
      dispatches: spans.length,
      each,
      kernels: kernels.slice(0, 12),
    };
  } finally {
    free();
  }
}

/** Steps after which memory is looked at. */
const LOOKS = [100, 1000, 2500, 5000, 10_000];

/** Memory over ten thousand steps of each model. */
export async function memoryPart(record: Recorder, { small }: Setting): Promise<void> {
  const peer = await createWeftPeer("webgpu", tf as unknown as Weft);
  for (const row of stepRows(small).filter(({ id }) => /step|adam/.test(id))) {
    await record.attempt(`${row.id}, 10,000 steps`, async () => {
      const { step, free } = stepper(await row.weftFunction!(peer));
      const looks: unknown[] = [];
      try {
        for (let i = 1; i <= LOOKS.at(-1)! && !record.isLate; i++) {
          const output = await step();
          // A loop that trains reads its loss now and then.
          if (i % 50 === 0) await peer.finish(output);
          if (!LOOKS.includes(i) && !(small && i % 10 === 0)) continue;
          const { numTensors, numBytes } = tf.memory();
          const { poolBytes, gpuBuffers } = gpuDevice().memory();
          const { rss, heapUsed } = Deno.memoryUsage();
          looks.push({ step: i, numTensors, numBytes, poolBytes, gpuBuffers, rss, heapUsed });
          if (small && i >= 30) break;
        }
      } finally {
        free();
      }
      return looks;
    });
  }
}
