/** Differences found by TensorFlow.js's programs: small arguments, scopes that look into objects, names of backends. */
// Runs alone: TensorFlow.js keeps one engine, with its kernels and tensors, for all of a global scope.

import * as tf from "@weft/weft/tfjs-core";
import * as weft from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import { testOnDevices } from "../devices.ts";

testOnDevices(
  "squeeze() takes one axis, and a buffer is of float32 where nothing else is said",
  () => {
    assertEquals(tf.squeeze(tf.zeros([1, 2, 1]), 0).shape, [2, 1]);
    assertEquals(tf.zeros([1, 2, 1]).squeeze(-1).shape, [1, 2]);
    assertThrows(() => tf.squeeze(tf.zeros([1, 2]), 1));
    const buffer = new tf.TensorBuffer([2]);
    buffer.set(1.5, 1);
    assertEquals([buffer.dtype, buffer.toTensor().arraySync()], ["float32", [0, 1.5]]);
  },
);

testOnDevices("tidy() keeps the tensors in objects of any class, and disposes the others", () => {
  class Box {
    constructor(readonly inside: tf.Tensor) {}
  }
  const before = tf.memory().numTensors;
  const box = tf.tidy("box", () => new Box(tf.square(tf.add(tf.scalar(1), tf.scalar(2)))));
  assertEquals(tf.memory().numTensors, before + 1);
  assertEquals(box.inside.dataSync()[0], 9);
  tf.dispose({ box: [box] });
  assertEquals(tf.memory().numTensors, before);
  assertThrows(() => tf.tidy("name", 1 as never), Error);
  assertThrows(() => tf.engine().endScope(), Error, "none was started");
});

testOnDevices("op() runs a function in a scope of its name", () => {
  const before = tf.memory().numTensors;
  const twiceSquared = tf.op({ twiceSquared_: (x: tf.Tensor) => tf.mul(tf.square(x), 2) });
  using x = tf.scalar(3), y = twiceSquared(x as never);
  assertEquals([twiceSquared.name, y.dataSync()[0]], ["twiceSquared__op", 18]);
  assertEquals(tf.memory().numTensors, before + 2);
  assertThrows(() => tf.op({}), Error, "received 0");
});

testOnDevices("time() and profile() have TensorFlow.js's fields", async () => {
  using x = tf.ones([4]);
  const { wallMs, kernelMs } = await tf.time(() => tf.square(x).dispose());
  assert(typeof kernelMs === "number" && kernelMs <= wallMs);
  const found = await tf.profile(() => {
    tf.square(x).dispose();
    return tf.add(x, x);
  });
  assertEquals(found.kernelNames, [tf.Square, tf.Add]);
  assertEquals([found.newTensors, found.newBytes], [1, 16]);
  assertEquals(
    found.kernels.map(({ bytesAdded, inputShapes, outputShapes }) => ({
      bytesAdded,
      inputShapes,
      outputShapes,
    })),
    [
      { bytesAdded: 16, inputShapes: [[4]], outputShapes: [[4]] },
      { bytesAdded: 16, inputShapes: [[4], [4]], outputShapes: [[4]] },
    ],
  );
  (found.result as tf.Tensor).dispose();
});

Deno.test("profile() names kernels as TensorFlow.js does", async () => {
  const x = tf.ones([2, 2]);
  const { kernelNames } = await tf.profile(() => {
    tf.mul(tf.matMul(x, x), 2);
    tf.where(tf.greater(tf.concat([x, x]), 1), 1, tf.reverse(tf.pad(x, [[1, 1], [0, 0]])));
    tf.topk(tf.mod(x, 2));
  });
  assertEquals(kernelNames, [
    ...[tf.BatchMatMul, tf.Multiply, tf.Concat, tf.Greater, tf.PadV2, tf.Reverse, tf.Select],
    ...[tf.Mod, tf.TopK],
  ]);
});

Deno.test("engine() lists backends as TensorFlow.js's engine does", async () => {
  await tf.setBackend("cpu");
  const { registry, registryFactory } = tf.engine();
  assertEquals(registry.cpu, tf.backend());
  assertEquals(Object.keys(registryFactory), ["webgpu", "cpu"]);
  class Mine extends tf.KernelBackend {
    override dispose(): void {}
  }
  tf.registerBackend("mine", () => new Mine());
  try {
    assertEquals(tf.engine().registryFactory.mine.priority, 1);
    assertEquals(Object.keys(tf.engine().registry), ["cpu"]);
    tf.findBackend("mine");
    assertEquals(Object.keys(tf.engine().registry), ["cpu", "mine"]);
  } finally {
    tf.removeBackend("mine");
  }
});

Deno.test("setBackend() knows TensorFlow.js's names, and names those it knows for any other", async () => {
  for (const name of ["wasm", "tensorflow", "cpu"]) {
    assertEquals([await tf.setBackend(name), tf.getBackend()], [true, "cpu"]);
  }
  assertEquals(await tf.setBackend("webgl"), true);
  await tf.setBackend("cpu");
  assertThrows(() => tf.setBackend("nothing"), Error, "webgpu, webgl");
  await assertRejects(() => weft.setBackend("gpu" as never), weft.ValueError, '"webgpu" and "cpu"');
});

Deno.test("numbers of arrays that TensorFlow.js does not know are float32, bytes are int32", () => {
  assertEquals(tf.tensor(new Float64Array([1, 2])).dtype, "float32");
  assertEquals(tf.tensor1d(new Int16Array([1, 2])).dtype, "float32");
  assertEquals(tf.tensor2d(new Uint8Array([1, 2]), [1, 2]).dtype, "int32");
  assertEquals(tf.tensor(new Float64Array([1]), [1], "int32").dtype, "int32");
});

testOnDevices("numbers beside integers are float32, in functions and in methods", () => {
  const pixels = tf.tensor1d([100, 255], "int32");
  const wanted: Readonly<Record<string, readonly [number[], number[]]>> = {
    add: [[355, 510], [355, 510]],
    div: [[100 / 255, 1], [2.55, 1]],
    floorDiv: [[0, 1], [2, 1]],
    maximum: [[255, 255], [255, 255]],
    minimum: [[100, 255], [100, 255]],
    mod: [[100, 0], [55, 0]],
    mul: [[25500, 65025], [25500, 65025]],
    prelu: [[100, 255], [255, 255]],
    squaredDifference: [[24025, 0], [24025, 0]],
    sub: [[-155, 0], [155, 0]],
  };
  const ops = tf as unknown as Record<string, (a: tf.TensorLike, b: tf.TensorLike) => tf.Tensor>;
  const methods = pixels as unknown as Record<string, (b: tf.TensorLike) => tf.Tensor>;
  const close = (found: tf.Tensor, values: number[]) => {
    assertEquals(found.dtype, "float32");
    tf.test_util.expectArraysClose(found.dataSync(), values, 1e-5);
  };
  for (const [name, [right, left]] of Object.entries(wanted)) {
    close(ops[name](pixels, 255), right);
    close(ops[name](255, pixels), left);
    close(methods[name](255), right);
    close(methods[name]([255, 255]), right);
    close(ops[name]([255, 255], pixels), left);
    // Two tensors of integers stay so.
    assertEquals(ops[name](pixels, pixels).dtype, "int32");
  }
  close(pixels.pow(-1), [0.01, 1 / 255]);
  close(tf.pow(2, tf.tensor1d([3, -1], "int32")), [8, 0.5]);
  close(tf.floorDiv(pixels, 0), [Infinity, Infinity]);
  for (const x of [tf.tensor1d([1, 0], "int32"), tf.tensor1d([1, 0], "bool")]) {
    const before = tf.memory().numTensors, logs = [-0.313262, -1.313262];
    for (const y of [tf.logSoftmax(x), x.logSoftmax(), tf.logSoftmax(x, 0)]) {
      close(y, logs);
      y.dispose();
    }
    assertEquals(tf.memory().numTensors, before);
  }
  const isBright = tf.greater(pixels, 150);
  close(tf.where(isBright, pixels, 0), [0, 255]);
  close(pixels.where(isBright, 1), [1, 255]);
  close(tf.where(isBright, [1, 2], pixels), [100, 2]);
});

Deno.test("util.shuffle() takes as many random numbers as TensorFlow.js, in its order", () => {
  const drawn = [0.9, 0.1, 0.7, 0.5], list = ["a", "b", "c", "d"];
  using _ = stub(Math, "random", () => drawn.shift()!);
  tf.util.shuffle(list);
  // What TensorFlow.js 4.22 makes of them.
  assertEquals([list, drawn], [["c", "b", "a", "d"], []]);
});
