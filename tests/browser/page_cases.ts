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
  name:
    "In a browser an emulated GPU cannot be read at once, and the error says what to do [webgpu]",
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

/** Ops without a kernel in WebAssembly run in loops that are compiled where text may be compiled. */
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

/** A gray JPEG of 27 by 21 pixels, and those of its first row. */
const JPEG = "" +
  "/9j/4AAQSkZJRgABAQEBLAEsAAD/2wBDAAIBAQEBAQIBAQECAgICAgQDAgICAgUEBAMEBgUGBgYFBgYGBwkIBgcJBwYGCAsICQoKCgoKBggLDAsKDAkKCgr/" +
  "wAALCAAVABsBAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEI" +
  "I0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ip" +
  "qrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/APxF+En/ACy/CvqD4Sf8svwr6g+En/LL8K970v8A5B8X" +
  "+5X4ifCT/ll+FfUHwk/5ZfhX1B8JP+WX4V73pf8AyD4v9yvxE+En/LL8K+oPhJ/yy/CvqD4Sf8svwr3vS/8AkHxf7lf/2Q==";
const FIRST_ROW = [
  0,
  5,
  10,
  15,
  20,
  25,
  30,
  35,
  40,
  45,
  50,
  55,
  60,
  65,
  70,
  75,
  80,
  85,
  90,
  95,
  100,
  105,
  110,
  115,
  120,
  125,
  130,
];

testOnDevices(
  "lines, PNG and JPEG are read: the browser decodes JPEG, Node asks for a codec",
  async () => {
    const lines: string[] = [];
    for await (const line of tf.data.textLines(new Blob(["one\ntwo"])).asNumpyIterator()) {
      lines.push(line.text());
    }
    assertEquals(lines, ["one", "two"]);
    const pixels = new tf.NdArray("uint8", [1, 2, 3], Uint8Array.of(1, 2, 3, 4, 5, 6));
    using png = tf.io.encodePng(pixels);
    using back = tf.io.decodePng(png);
    assertEquals([...await back.data() as Uint8Array], [1, 2, 3, 4, 5, 6]);
    const jpeg = Uint8Array.from(atob(JPEG), (c) => c.charCodeAt(0));
    if (!("OffscreenCanvas" in globalThis)) {
      await assertRejects(
        () => tf.io.decodeImageAsync(jpeg),
        tf.errors.UnimplementedError,
        "@weft/weft/image",
      );
      return;
    }
    assertThrows(
      () => tf.io.decodeJpeg(jpeg),
      tf.errors.FailedPreconditionError,
      "whose name ends in Async",
    );
    const near = (image: ArrayLike<number>) =>
      FIRST_ROW.every((v, i) => Math.abs(v - image[i]) <= 3);
    using image = await tf.io.decodeImageAsync(jpeg, { channels: 1 });
    assertEquals(image.shape, [21, 27, 1]);
    assert(near(await image.data() as Uint8Array));
    const files = tf.data.fromFiles([jpeg]).map(({ contents }) => tf.io.decodeJpeg(contents));
    for await (const decoded of files.asNumpyIterator()) {
      assertEquals(decoded.shape, [21, 27, 1]);
      assert(near(decoded.data as Uint8Array));
    }
    using broken = tf.io.encodePng(pixels);
    const cut = (await broken.ndarray()).data[0] as Uint8Array;
    await assertRejects(
      () => tf.io.decodeImageAsync(cut.subarray(0, 20)),
      tf.errors.InvalidArgumentError,
    );
    await assertRejects(
      () => tf.io.decodeImageAsync(jpeg.subarray(0, 40)),
      tf.errors.InvalidArgumentError,
    );
  },
);
