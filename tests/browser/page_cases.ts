/**
 * Tests for platforms other than Deno: scripts, graphs, gradients, reading and memory, on both devices.
 * They run in the pages of browser_test.ts and in Node.
 */

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices } from "../devices.ts";

testOnDevices("scripts run in a graph", async () => {
  const f = tf.function((x: tf.Tensor) => {
    const shifted = tf.numpyFunction(
      (a) =>
        new tf.NdArray("float32", a.shape, Float32Array.from(a.data as Float32Array, (v) => v + 1)),
      [tf.mul(x, 2)],
      "float32",
    ) as tf.Tensor;
    return tf.sum(tf.reshape(shifted, [3]));
  });
  const x = tf.tensor1d([1, 2, 3]);
  const y = await f.async(x) as tf.Tensor;
  assertEquals(Array.from(await y.data() as Float32Array), [15]);
  tf.dispose([x, y]);
});

testOnDevices("gradients go through scripts", async () => {
  const g = tf.function((x: tf.Tensor) => {
    const y = tf.pyFunction((a) => tf.mul(tf.square(a), a), [x], "float32") as tf.Tensor;
    return tf.gradients(tf.sum(y), [x])[0]!;
  });
  const x = tf.tensor1d([1, 2, -3]);
  const dx = await g.async(x) as tf.Tensor;
  assertEquals(Array.from(await dx.data() as Float32Array), [3, 12, 27]);
  tf.dispose([x, dx]);
});

testOnDevices("bodies that read at once work where they are awaited", async () => {
  const body = (x: tf.Tensor) => tf.sum(x).item() > 0 ? tf.square(x) : tf.neg(x);
  const f = tf.function((x: tf.Tensor) => {
    const y = tf.pyFunction(body, [tf.add(x, 1)], tf.TensorSpec([2], "float32"));
    return [y, tf.gradients(tf.sum(y), [x])[0]!];
  });
  const x = tf.tensor1d([1, 2]), z = tf.tensor1d([-3, -4]);
  const results = [
    ...await f.async(x),
    ...await f.async(z),
    await tf.pyFunctionAsync(body, [x], "float32"),
  ];
  const values = await Promise.all(
    results.map(async (t) => Array.from(await t.data() as Float32Array)),
  );
  assertEquals(values, [[4, 9], [4, 6], [2, 3], [-1, -1], [1, 4]]);
  tf.dispose([x, z, results]);
});

testOnDevices("second gradients agree with the formula", async () => {
  const x = tf.tensor1d([0.5, -1, 2]);
  const second = tf.grad((v: tf.Tensor) =>
    tf.sum(tf.grad((u: tf.Tensor) => tf.sum(tf.pow(u, 4)))(v))
  );
  const y = second(x);
  const values = Array.from(await y.data() as Float32Array);
  values.forEach((v, i) => assert(Math.abs(v - 12 * [0.25, 1, 4][i]) < 1e-3, `${values}`));
  tf.dispose([x, y]);
});

testOnDevices("a session runs what a graph holds", async () => {
  const graph = new tf.Graph();
  const [x, y] = graph.asDefault(() => {
    const x = tf.placeholder("float32", [null, 2]);
    return [x, tf.matMul(x, tf.ones([2, 2]))];
  });
  const session = new tf.Session({ graph });
  const out = await session.run(y, {
    feeds: new Map([[x, [[3, 4]]]]),
  });
  assertEquals((out as tf.NdArray).toArray(), [[7, 7]]);
  await session.close();
});

testOnDevices("memory stays flat over repeated work", async (device) => {
  const w = tf.ones([16, 16]);
  const step = tf.function((x: tf.Tensor) =>
    tf.grad((v: tf.Tensor) => tf.sum(tf.tanh(tf.matMul(v, w))))(x)
  );
  const once = async () => {
    const x = tf.ones([8, 16]);
    const y = await step.async(x) as tf.Tensor;
    await y.data();
    tf.tidy(() => void tf.softmax(tf.add(x, y)));
    tf.dispose([x, y]);
  };
  const counts = () => {
    const { numTensors, numDataBuffers } = tf.memory();
    return {
      numTensors,
      numDataBuffers,
      gpuBuffers: device === "webgpu" ? tf.memory().gpuBuffers : 0,
    };
  };
  for (let i = 0; i < 3; i++) await once();
  const before = counts();
  for (let i = 0; i < 20; i++) await once();
  assertEquals(counts(), before);
  w.dispose();
});

Deno.test({
  name: "In a browser a GPU tensor cannot be read at once, and the error says what to do [webgpu]",
  ignore: Deno.env.get("WEFT_TEST_WEBGPU") !== "1",
  async fn() {
    assert(await tf.setBackend("webgpu"));
    const x = tf.add(tf.tensor1d([1, 2]), 1);
    assertThrows(() => x.dataSync(), tf.errors.FailedPreconditionError, "await data() instead");
    assertEquals(Array.from(await x.data() as Float32Array), [2, 3]);
    const f = tf.function((v: tf.Tensor) =>
      tf.numpyFunction((a) => a, [v], "float32") as tf.Tensor
    );
    const error = await assertRejects(async () => void await f(x), tf.errors.OpError);
    assert(/async/.test(error.message), error.message);
    x.dispose();
  },
});

Deno.test("large tensors outgrow the first memory", async () => {
  assert(await tf.setBackend("cpu"));
  const n = 3 * 2 ** 20;
  const kept = tf.range(0, 1000);
  const large = tf.add(tf.ones([n]), tf.fill([n], 2));
  const sum = tf.sum(large);
  assertEquals(Array.from(await sum.data() as Float32Array), [3 * n]);
  assertEquals((await kept.data())[999], 999);
  tf.dispose([kept, large, sum]);
});

/** What has no kernel in WebAssembly, and so runs in loops that are printed where text may be compiled. */
Deno.test("the dtypes that only the host computes reduce, scan and add", async () => {
  await tf.setBackend("cpu");
  const values = [3, 1, 2, 5, 4, 6];
  for (
    const dtype of ["float64", "int64", "uint64", "uint8", "int16", "uint32", "bfloat16"] as const
  ) {
    const x = tf.cast(tf.tensor2d(values, [2, 3]), dtype);
    const read = async (t: tf.Tensor) =>
      Array.from(await tf.cast(t, "float32").data() as Float32Array);
    assertEquals(await read(tf.add(x, x)), values.map((v) => 2 * v), dtype);
    assertEquals(await read(tf.sum(x)), [21], dtype);
    assertEquals(await read(tf.sum(x, 0)), [8, 5, 8], dtype);
    assertEquals(await read(tf.prod(x, 1)), [6, 120], dtype);
    assertEquals(await read(tf.max(x, 1)), [3, 6], dtype);
    assertEquals(await read(tf.min(x, 0)), [3, 1, 2], dtype);
    assertEquals(await read(tf.mean(x, 1)), [2, 5], dtype);
    assertEquals(await read(tf.cumsum(x, 1)), [3, 4, 6, 5, 9, 15], dtype);
    assertEquals(await read(tf.cumprod(x, 0, true)), [1, 1, 1, 3, 1, 2], dtype);
  }
});
