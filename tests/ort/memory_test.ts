/** Outputs that stay on the GPU, feeds that come from there, outputs into given memory, and nothing that leaks. */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import * as ort from "@weft/weft/ort";
import { InferenceSession, Tensor } from "@weft/weft/ort";
import { testOnDevices, testOnGpu } from "../devices.ts";
import { floats, model, node, tensor, value } from "../onnx/make_model.ts";
import { assertMovesTokens, decode } from "./decode.ts";

const AFFINE = model({
  nodes: [node("Mul", ["x", "w"], ["y"]), node("Neg", ["y"], ["z"])],
  inputs: [value("x", "float32", ["n", 2])],
  outputs: [value("y", "float32", ["n", 2]), value("z", "float32", ["n", 2])],
  initialisers: [tensor("w", [2], floats(2, 3))],
});
const providers = { cpu: ["wasm"], webgpu: ["webgpu"] };
const onGpu = { executionProviders: ["webgpu"], preferredOutputLocation: "gpu-buffer" } as const;

const onGpuOf = (rest: ort.SessionOptions): ort.SessionOptions => ({
  executionProviders: ["webgpu"],
  ...rest,
});

testOnGpu("a decode loop on the GPU moves tokens alone", async () => {
  const wanted = await decode({ executionProviders: ["wasm"] }, 12);
  const here = await decode(onGpuOf({}), 12);
  const preferredOutputLocation = { present: "gpu-buffer" } as const;
  const there = await decode(onGpuOf({ preferredOutputLocation }), 12);
  const captured = await decode(
    onGpuOf({ preferredOutputLocation, enableGraphCapture: true, enableProfiling: true }),
    12,
  );
  for (const { tokens } of [here, there, captured]) assertEquals(tokens, wanted.tokens);
  assertEquals([wanted.location, here.location, there.location], ["cpu", "cpu", "gpu-buffer"]);
  for (const { toHost } of here.last) assert(toHost > 2000, `${toHost} bytes to the host`);
  assertMovesTokens(there);
  assertMovesTokens(captured);
});

testOnGpu("outputs stay on the GPU until they are read", async () => {
  const session = await InferenceSession.create(AFFINE, onGpu);
  const { y, z } = await session.run({ x: new Tensor("float32", [1, 2, 3, 4], [2, 2]) });
  assertEquals([y.location, y.type, y.dims], ["gpu-buffer", "float32", [2, 2]]);
  assert(y.gpuBuffer.size >= 16);
  assertThrows(() => y.data, Error, "The data is not on CPU");
  assertThrows(() => y.reshape([4]), Error, "Cannot reshape a tensor that owns GPU resource.");
  assertEquals([await y.getData(true), y.location], [floats(2, 6, 6, 12), "cpu"]);
  const again = await session.run({ x: z as Tensor });
  assertEquals(await again.y.getData(), floats(-4, -18, -12, -36));
  for (const t of [y, z, again.y, again.z]) t.dispose();
  await session.release();
});

testOnGpu("feeds may be buffers of one's own on Weft's device", async () => {
  const session = await InferenceSession.create(AFFINE, { executionProviders: ["webgpu"] });
  const device = await ort.env.webgpu.device;
  const buffer = device.createBuffer({
    size: 16,
    usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC,
  });
  device.queue.writeBuffer(buffer, 0, floats(1, 2, 3, 4) as BufferSource);
  const x = Tensor.fromGpuBuffer(buffer, { dims: [2, 2] });
  assertEquals((await session.run({ x })).y.data, floats(2, 6, 6, 12));
  const target = Tensor.fromGpuBuffer(buffer, { dims: [2, 2] });
  await session.run({ x: new Tensor("float32", [1, 1, 1, 1], [2, 2]) }, { z: target });
  assertEquals((await session.run({ x })).y.data, floats(-4, -9, -4, -9));
  await session.release();
  buffer.destroy();
});

testOnDevices("outputs are written into given tensors", async (device) => {
  const session = await InferenceSession.create(AFFINE, { executionProviders: providers[device] });
  const x = new Tensor("float32", [1, 2], [1, 2]), data = new Float32Array(2);
  const y = new Tensor("float32", data, [1, 2]);
  const results = await session.run({ x }, { y, z: null });
  assert(results.y === y && y.data === data);
  assertEquals([data, results.z.data], [floats(2, 6), floats(-2, -6)]);
  await assertRejects(
    () => session.run({ x }, { y: new Tensor("float32", [0, 0], [2]) }),
    Error,
    'Cannot write the output "y"',
  );
  await session.release();
});

testOnDevices("runs leave no tensors behind, and results are the caller's", async (device) => {
  const session = await InferenceSession.create(AFFINE, { executionProviders: providers[device] });
  const x = new Tensor("float32", [1, 2], [1, 2]);
  await session.run({ x });
  const before = tf.memory().numTensors;
  const { y } = await session.run({ x });
  (y.data as Float32Array).fill(0);
  await session.run({ x }, ["z"]);
  await assertRejects(() => session.run({ x: new Tensor("float32", [1], [1]) as Tensor }));
  assertEquals((await session.run({ x })).y.data, floats(2, 6));
  assertEquals(tf.memory().numTensors, before);
  await session.release();
});

testOnDevices("a session on the CPU stays there", async () => {
  const session = await InferenceSession.create(AFFINE, { executionProviders: ["wasm"] });
  const x = new Tensor("float32", [1, 2], [1, 2]);
  const { dispatches } = await tf.profile(() => session.run({ x }));
  assertEquals(dispatches, 0);
  await session.release();
});

testOnDevices("an unavailable provider is reported, and the next one taken", async () => {
  const options = { executionProviders: ["nowhere", "wasm"] }, told: string[] = [];
  const { warn } = console;
  console.warn = (text: string) => void told.push(text);
  try {
    await (await InferenceSession.create(AFFINE, options)).release();
  } finally {
    console.warn = warn;
  }
  assertEquals(told.length, 1);
  assert(told[0].startsWith('removing requested execution provider "nowhere"'));
});

Deno.test("a backend of one's own runs models under its name", async () => {
  const handler = {
    ...{ inputNames: ["x"], outputNames: ["y"], inputMetadata: [], outputMetadata: [] },
    run: (feeds: ort.FeedsType) => Promise.resolve({ y: feeds.x }),
    ...{ startProfiling() {}, endProfiling() {}, dispose: () => Promise.resolve() },
  };
  const backend = {
    init: () => Promise.resolve(),
    createInferenceSessionHandler: () => Promise.resolve(handler),
  };
  ort.registerBackend("echo", backend, 1);
  assertThrows(() => ort.registerBackend("echo", { ...backend }, 1), Error, "using priority 1");
  assertThrows(() => ort.registerBackend("none", {} as typeof backend, 1), TypeError);
  const session = await InferenceSession.create(AFFINE, { executionProviders: ["echo"] });
  const x = new Tensor("float32", [1], [1]);
  assertEquals((await session.run({ x })).y, x);
});

Deno.test("data, dims, type and size are fields that packages copy", () => {
  const copy = Object.assign({}, new Tensor("float32", [1, 2], [2]));
  assertEquals([copy.data, copy.dims, copy.type, copy.size], [floats(1, 2), [2], "float32", 2]);
});

Deno.test("tensors of onnxruntime's own packages are tensors too", () => {
  const theirs = { dataLocation: "cpu", cpuData: floats(1), type: "float32", dims: [1], size: 1 };
  assert(theirs instanceof (Tensor as unknown as new () => object));
  assert(!(Promise.resolve() instanceof (Tensor as unknown as new () => object)));
});

Deno.test("int4 feeds are two elements a byte", async () => {
  const session = await InferenceSession.create(
    model({
      nodes: [node("Cast", ["x"], ["y"], { to: 1n })],
      inputs: [value("x", "int8", [3])],
      outputs: [value("y", "float32", [3])],
    }),
    { executionProviders: ["wasm"] },
  );
  const x = new Tensor("int4", Uint8Array.of(0xf1, 0x08), [3]);
  assertEquals((await session.run({ x: x as Tensor })).y.data, floats(1, -1, -8));
});

testOnDevices(
  "runs have the values that feeds had at the call, whatever runs wait",
  async (device) => {
    const session = await InferenceSession.create(AFFINE, {
      executionProviders: providers[device],
    });
    const data = floats(0, 0), before = tf.memory().numTensors;
    const runs = Array.from({ length: 6 }, (_, i) => {
      const x = new Tensor("float32", data.fill(i), [1, 2]);
      const run = session.run({ x }, ["y"]);
      // What was fed may be used again, or be gone.
      if (i % 2 === 0) x.dispose();
      return run;
    });
    const bad = session.run({ x: new Tensor("float32", floats(1), [1]) }, ["y"]);
    data.fill(9);
    await assertRejects(() => bad, Error, "Invalid rank for input: x");
    const found = (await Promise.all(runs)).map(({ y }) => y.data);
    assertEquals(found, [0, 1, 2, 3, 4, 5].map((i) => floats(2 * i, 3 * i)));
    const last = session.run({ x: new Tensor("float32", floats(1, 1), [1, 2]) }, ["y"]);
    await session.release();
    assertEquals((await last).y.data, floats(2, 3));
    const x = new Tensor("float32", floats(1, 1), [1, 2]);
    await assertRejects(() => session.run({ x }), Error, "it is released");
    assert(tf.memory().numTensors <= before);
  },
);
