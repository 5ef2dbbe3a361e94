/** Models of float16 with everything that nodes may be beside them: the numbers of the same model in float32, rounded once. */
import { assert, assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { encodeOnnx, loadOnnx, lora, type OnnxModel } from "@weft/weft/onnx";
import * as ort from "@weft/weft/ort";
import type { WebGpuDevice } from "../../src/engine/devices/webgpu/webgpu_device.ts";
import { gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { testOnDevices, testOnGpu } from "../devices.ts";
import { floats, type Graph, int64s, model, node, tensor, value } from "./make_model.ts";

type Float = "float16" | "float32";

/** Numbers that look random, of so many bits that float16 holds them. */
const numbers = (n: number, seed = 1): Float32Array =>
  Float32Array.from({ length: n }, (_, i) => Math.round(Math.sin(i * 1.7 + seed) * 256) / 256);
const N = 8;

/** Graphs of rows of {@linkcode N} numbers, in one type of floats. */
const GRAPHS: Readonly<Record<string, (dtype: Float) => Graph & { readonly opset?: number }>> = {
  "a script": (dtype) =>
    graph(dtype, [
      node("MatMul", ["x", "w"], ["p"]),
      node("Own", ["p"], ["s"], {}, "acme"),
      node("Add", ["s", "b"], ["y"]),
    ]),
  "a branch": (dtype) =>
    graph(dtype, [
      node("MatMul", ["x", "w"], ["p"]),
      node("ReduceSum", ["p"], ["sum"], { keepdims: 0n }),
      node("Greater", ["sum", "low"], ["is"]),
      node("If", ["is"], ["y"], {
        then_branch: inner(dtype, "t", [
          node("Gemm", ["p", "w", "b"], ["g"], { transB: 1n }),
          node("Softmax", ["g"], ["t"]),
        ]),
        else_branch: inner(dtype, "e", [node("Neg", ["p"], ["e"])]),
      }),
    ]),
  "a loop": (dtype) =>
    graph(dtype, [
      node("MatMul", ["x", "w"], ["p"]),
      node("Loop", ["count", "", "p"], ["y"], {
        body: {
          nodes: [
            node("Identity", ["goes"], ["on"]),
            node("MatMul", ["now", "w"], ["q"]),
            node("Tanh", ["q"], ["next"]),
          ],
          inputs: [
            value("i", "int64", []),
            value("goes", "bool", []),
            value("now", dtype, ["n", N]),
          ],
          outputs: [value("on", "bool", []), value("next", dtype, ["n", N])],
        },
      }),
    ]),
  "levels of 8 bits": (dtype) =>
    graph(dtype, [
      node("MatMul", ["x", "w"], ["p"]),
      node("DequantizeLinear", ["levels", "scale"], ["v"]),
      node("MatMul", ["p", "v"], ["q"]),
      node("LayerNormalization", ["q", "b"], ["y"]),
    ]),
};

const floatsOf = (dtype: Float, values: Float32Array) =>
  dtype === "float16" ? new Float16Array(values) : values;
const inner = (dtype: Float, name: string, nodes: Graph["nodes"]): Graph => ({
  nodes,
  inputs: [],
  outputs: [value(name, dtype, ["n", N])],
});
const graph = (dtype: Float, nodes: Graph["nodes"]): Graph & { readonly opset: number } => ({
  nodes,
  opset: 21,
  inputs: [value("x", dtype, ["n", N])],
  outputs: [value("y", dtype, ["n", N])],
  initialisers: [
    tensor("w", [N, N], floatsOf(dtype, numbers(N * N))),
    tensor("b", [N], floatsOf(dtype, numbers(N, 4))),
    tensor("low", [], floatsOf(dtype, floats(-1e3))),
    tensor("count", [], int64s(2)),
    tensor("levels", [N, N], Int8Array.from({ length: N * N }, (_, i) => i * 37 % 201 - 100)),
    tensor("scale", [], floatsOf(dtype, floats(2 ** -6))),
  ],
});
const scripts = { "acme:Own": (x: tf.Tensor) => tf.mul(tf.sin(x), tf.cast(2, x.dtype)) };
const ROWS = numbers(3 * N, 9);

/** Fails where numbers differ by more than a part of the largest. */
async function near(got: tf.Tensor, want: tf.Tensor, by: number, what: string): Promise<void> {
  const a = await got.data() as ArrayLike<number>, b = await want.data() as Float32Array;
  assertEquals(got.shape, want.shape, what);
  const most = Math.max(1, ...b.map(Math.abs));
  b.forEach((v, i) => assert(Math.abs(v - a[i]) <= by * most, `${what}: ${a} ≠ ${b}`));
}

/** Writes a model's function as a file of ONNX, and runs it. */
async function exported(m: OnnxModel, x: tf.Tensor): Promise<tf.Tensor> {
  const inputSignature = [tf.TensorSpec([null, N], "float16", "x")];
  const f = tf.function((t: tf.Tensor) => m.call({ x: t }).y!, { inputSignature });
  const again = await loadOnnx(encodeOnnx(f)), [{ name }] = again.outputs;
  const y = (await again.run({ [again.inputs[0].name]: x }))[name];
  again.dispose();
  return y;
}

for (const [name, make] of Object.entries(GRAPHS)) {
  testOnDevices(
    `a model of float16 gives the numbers of float32, rounded once: ${name}`,
    async () => {
      const files = { half: model(make("float16")), wide: model(make("float32")) };
      const x = tf.tensor(ROWS, [3, N]), h = tf.cast(x, "float16");
      // A script gets float16: what it reads and gives is rounded.
      const by = name === "a script" ? 2e-3 : 6e-4;
      for (const trainable of [true, false]) {
        const m = await loadOnnx(files.half, { scripts, trainable });
        const wide = await loadOnnx(files.wide, { scripts, trainable });
        const want = (await wide.run({ x })).y!, got = (await m.run({ x: h })).y!;
        assertEquals(got.dtype, "float16");
        await near(got, want, by, "run");
        await near(m.runEagerly({ x: h }).y!, want, by, "runEagerly");
        const f = tf.function((t: tf.Tensor) => m.call({ x: t }).y!);
        await near(f(h), want, by, "in a function");
        m.dispose();
        wide.dispose();
      }
      const [m, wide] = [
        await loadOnnx(files.half, { scripts }),
        await loadOnnx(files.wide, { scripts }),
      ];
      const loss = (of: typeof m, t: tf.Tensor) => () =>
        tf.sum(tf.square(tf.cast(of.call({ x: t }).y!, "float32")));
      const slopes = (of: typeof m, t: tf.Tensor) =>
        tf.variableGrads(loss(of, t), [of.variables.w]).grads[of.variables.w.name];
      const slope = slopes(m, h), wanted = slopes(wide, x);
      assertEquals(slope.dtype, "float16");
      await near(slope, wanted, 4e-3, "gradient");
      // What is exported computes the same.
      if (name !== "a script") {
        await near(await exported(m, h), (await wide.run({ x })).y!, 3e-3, "encodeOnnx()");
      }
      // Adapters train beside weights that stay.
      if (name !== "a loop") {
        const { variables } = lora(m, { rank: 2, targets: "w", seed: 1 });
        const before = await loss(m, h)().item();
        const sgd = tf.train.sgd(1e-3);
        for (let i = 0; i < 3; i++) sgd.minimize(loss(m, h), false, Object.values(variables));
        assert(await loss(m, h)().item() < before, `${before}`);
      }
      for (const each of [m, wide]) each.dispose();
    },
  );
}

testOnDevices("sessions of float16 take and give float16, on each device", async (device) => {
  const file = model(GRAPHS["a branch"]("float16"));
  const provider = device === "cpu" ? "wasm" : "webgpu";
  const session = await ort.InferenceSession.create(file, { executionProviders: [provider] });
  const x = new ort.Tensor("float16", new Float16Array(ROWS) as never, [3, N]);
  const { y } = await session.run({ x });
  assertEquals([y.type, y.dims], ["float16", [3, N]]);
  const wide = await loadOnnx(model(GRAPHS["a branch"]("float32")));
  const want = await (await wide.run({ x: tf.tensor(ROWS, [3, N]) })).y!.data() as Float32Array;
  const got = y.data as unknown as Float16Array | Uint16Array;
  const read = new Float16Array(got.buffer as ArrayBuffer, got.byteOffset, got.length);
  want.forEach((v, i) => assert(Math.abs(v - read[i]) <= 6e-4, `${read} ≠ ${want}`));
  await session.release();
  wide.dispose();
});

testOnGpu("constant weights of float16 go to the GPU as they are", async () => {
  await tf.setBackend("webgpu");
  const n = 256, gpu = gpuDevice() as WebGpuDevice;
  const file = model({
    nodes: [node("MatMul", ["x", "w"], ["y"])],
    inputs: [value("x", "float16", ["n", n])],
    outputs: [value("y", "float16", ["n", n])],
    initialisers: [tensor("w", [n, n], new Float16Array(n * n).fill(2 ** -8))],
  });
  for (const rows of [1, 6]) {
    const m = await loadOnnx(file, { trainable: false }), x = tf.ones([rows, n], "float16");
    const before = gpu.counters.bytesToDevice, { y } = await m.run({ x });
    assertEquals([...new Set(await y!.data() as Iterable<number>)], [1]);
    const bytes = gpu.counters.bytesToDevice - before;
    assert(bytes >= 2 * n * n && bytes < 2.5 * n * n, `${bytes}`);
    m.dispose();
  }
});
