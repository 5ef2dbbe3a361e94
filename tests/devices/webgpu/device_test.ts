/** The WebGPU device: recording, caching, reading, errors. */
import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import type { DeviceBuffer } from "../../../src/engine/core/device.ts";
import { NdArray } from "../../../src/engine/core/nd_array.ts";
import { makeProgram } from "../../../src/engine/core/dispatch.ts";
import { HAS_WEBGPU } from "../../devices.ts";
import { DOUBLE_PLAN, freshDevice, SPEC, VALUES } from "./fresh_device.ts";

function gpuTest(name: string, fn: () => Promise<void> | void): void {
  Deno.test({
    name: `${name} [webgpu]`,
    ignore: !HAS_WEBGPU,
    sanitizeOps: false,
    sanitizeResources: false,
    fn,
  });
}

gpuTest("WebGpuDevice records many kernels into one submission", async () => {
  const device = await freshDevice();
  const kernel = device.prepareKernel("double", DOUBLE_PLAN, [SPEC]);
  let buffer = device.upload(VALUES);
  const before = { ...device.counters };
  for (let i = 0; i < 10; i++) [buffer] = kernel.run([buffer]);
  const [out] = device.readSync([{ buffer, spec: SPEC }]) ??
    await device.read([{ buffer, spec: SPEC }]);
  assertEquals([...out.data as Float32Array], [1024, 2048, 3072, 4096]);
  assertEquals([
    device.counters.dispatches - before.dispatches,
    device.counters.submits - before.submits,
    device.counters.readbacks - before.readbacks,
  ], [10, 1, 1]);
  device.destroy();
});

gpuTest(
  "WebGpuDevice knows the little that the host has written, until others may write",
  async () => {
    const device = await freshDevice();
    const readOf = async (buffer: DeviceBuffer) => {
      const before = device.counters.readbacks, reads = [{ buffer, spec: SPEC }];
      const [out] = await device.read(reads);
      return [[...out.data as Float32Array], device.counters.readbacks - before];
    };
    const array = VALUES.copy();
    const given = device.upload(array);
    (array.data as Float32Array).fill(9);
    assertEquals(await readOf(given), [[1, 2, 3, 4], 0]);
    // What is read may be written to.
    const [first] = await device.read([{ buffer: given, spec: SPEC }]);
    (first.data as Float32Array).fill(8);
    assertEquals(await readOf(given), [[1, 2, 3, 4], 0]);
    const kernel = device.prepareKernel("double", DOUBLE_PLAN, [SPEC]);
    const [made] = kernel.run([given]);
    assertEquals(await readOf(made), [[2, 4, 6, 8], 1]);
    // Of several only the unknown are asked for.
    const before = device.counters.bytesToHost;
    const both = await device.read([given, made, given].map((buffer) => ({ buffer, spec: SPEC })));
    assertEquals(both.map(({ data }) => (data as Float32Array)[1]), [2, 4, 2]);
    assertEquals(device.counters.bytesToHost - before, 16);
    // Another library may write what was lent to it.
    device.gpu.queue.writeBuffer(device.lend(given), 0, new Float32Array([5, 6, 7, 8]));
    assertEquals(await readOf(given), [[5, 6, 7, 8], 1]);
    device.free(given);
    device.flush();
    // Uploads take it again, and kernels may.
    const again = device.upload(VALUES);
    assertEquals(await readOf(again), [[1, 2, 3, 4], 0]);
    const large = { dtype: "float32", shape: [100] } as const;
    const many = device.upload(NdArray.zeros("float32", [100]));
    const asked = device.counters.readbacks;
    await device.read([{ buffer: many, spec: large }]);
    assertEquals(device.counters.readbacks - asked, 1);
    device.destroy();
  },
);

gpuTest("WebGpuDevice makes nothing new when warm", async () => {
  const device = await freshDevice();
  const kernel = device.prepareKernel("double", DOUBLE_PLAN, [SPEC]);
  const step = async (): Promise<void> => {
    const input = device.upload(VALUES);
    const [out] = kernel.run([input]);
    await device.read([{ buffer: out, spec: SPEC }]);
    device.free(input);
    device.free(out);
  };
  for (let i = 0; i < 4; i++) await step();
  const { buffersCreated, bindGroupsCreated, pipelinesCreated } = device.counters;
  for (let i = 0; i < 20; i++) await step();
  const c = device.counters;
  assertEquals([c.buffersCreated, c.bindGroupsCreated, c.pipelinesCreated], [
    buffersCreated,
    bindGroupsCreated,
    pipelinesCreated,
  ]);
  device.destroy();
});

gpuTest("WebGpuDevice reads several buffers in one copy", async () => {
  const device = await freshDevice();
  const numbers = Float32Array.from({ length: 100 }, (_, i) => i);
  const truths = Uint8Array.from({ length: 100 }, (_, i) => i % 3 === 0 ? 1 : 0);
  const a = device.upload(new tf.NdArray("float32", [100], numbers)),
    b = device.upload(new tf.NdArray("bool", [100], truths));
  const reads = [
    { buffer: a, spec: { dtype: "float32", shape: [100] } as const },
    { buffer: b, spec: { dtype: "bool", shape: [100] } as const },
  ];
  const out = device.readSync(reads) ?? await device.read(reads);
  assertEquals(out.map((array) => array.data), [numbers, truths]);
  assertEquals(device.counters.readbacks, 1);
  device.destroy();
});

gpuTest("WebGpuDevice keeps an upload from overtaking recorded work", async () => {
  const device = await freshDevice();
  const kernel = device.prepareKernel("double", DOUBLE_PLAN, [SPEC]);
  const outputs = [];
  for (let i = 0; i < 50; i++) {
    const input = device.upload(new tf.NdArray("float32", [4], new Float32Array(4).fill(i)));
    outputs.push(kernel.run([input])[0]);
    device.free(input);
  }
  const reads = outputs.map((buffer) => ({ buffer, spec: SPEC }));
  const out = device.readSync(reads) ?? await device.read(reads);
  assertEquals(
    out.map((a) => (a.data as Float32Array)[0]),
    Array.from({ length: 50 }, (_, i) => 2 * i),
  );
  device.destroy();
});

gpuTest("a program that does not compile is reported with numbered lines", async () => {
  const device = await freshDevice();
  const broken = makeProgram({
    name: "broken",
    inputs: ["f32"],
    outputs: ["f32"],
    workgroup: [1, 1, 1],
    body: "out0[0] = no_such_function(in0[0]);",
  });
  const plan = {
    dispatches: [{
      program: broken,
      buffers: [{ input: 0 }, { output: 0 }],
      params: [],
      grid: [1, 1, 1] as const,
    }],
  };
  const input = device.upload(VALUES);
  const kernel = device.prepareKernel("broken", plan, [SPEC]);
  await assertRejects(
    async () => {
      const [buffer] = kernel.run([input]);
      await device.read([{ buffer, spec: SPEC }]);
      await device.read([{ buffer, spec: SPEC }]);
    },
    tf.errors.InternalError,
    "   1 | @group(0)",
  );
  device.destroy();
});

gpuTest("a lost device fails the next call", async () => {
  const device = await freshDevice();
  device.gpu.destroy();
  await device.gpu.lost;
  await assertRejects(async () => {
    device.upload(VALUES);
    await Promise.resolve();
  }, tf.errors.OpError);
});

gpuTest("memory of dropped tensors returns to the pool", async () => {
  await tf.setBackend("webgpu");
  const run = (): void => tf.tidy(() => void tf.add(tf.tensor([1, 2, 3]), 1).dataSync());
  run();
  const before = tf.memory();
  for (let i = 0; i < 100; i++) run();
  const after = tf.memory();
  assertEquals([after.numTensors, after.numDataBuffers, after.gpuBuffers], [
    before.numTensors,
    before.numDataBuffers,
    before.gpuBuffers,
  ]);
  await tf.setBackend("cpu");
});

Deno.test("device() names the devices there are when asked for another", () => {
  assertThrows(
    () => tf.device("/GPU:7", () => tf.add(1, 2)),
    tf.errors.InvalidArgumentError,
    "available devices are [",
  );
});
