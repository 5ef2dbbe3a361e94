import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { isOfTheDay } from "../effort.ts";
import { noise } from "./values.ts";

testOnDevices("matMul() multiplies matrices stored either way", () => {
  const a = tf.tensor([[1, 2, 3], [4, 5, 6]]), b = tf.tensor([[1, 0], [0, 1], [2, 2]]);
  const wanted = [[7, 8], [16, 17]];
  assertEquals(tf.matMul(a, b).arraySync(), wanted);
  assertEquals(tf.matMul(tf.transpose(a), b, true).arraySync(), wanted);
  assertEquals(tf.matMul(a, tf.transpose(b), false, true).arraySync(), wanted);
  assertEquals(tf.matMul(tf.transpose(a), tf.transpose(b), true, true).arraySync(), wanted);
});

testOnDevices("matMul() broadcasts batches", () => {
  const a = tf.tensor(noise("float32", [2, 1, 3, 4], 1)),
    b = tf.tensor(noise("float32", [5, 4, 2], 2));
  const y = tf.matMul(a, b);
  assertEquals(y.shape, [2, 5, 3, 2]);
  const one = tf.matMul(
    a.slice([1, 0, 0, 0], [1, 1, 3, 4]).reshape([3, 4]),
    b.slice([3, 0, 0], [1, 4, 2]).reshape([4, 2]),
  );
  const part = y.slice([1, 3, 0, 0], [1, 1, 3, 2]).dataSync() as Float32Array;
  (one.dataSync() as Float32Array).forEach((v, i) => assertAlmostEquals(part[i], v, 1e-5));
});

testOnDevices("matMul() keeps dtypes and is exact for integers", () => {
  const big = tf.tensor([[16777217, 3]], [1, 2], "int32");
  const y = tf.matMul(big, tf.tensor([[1], [1]], [2, 1], "int32"));
  assertEquals([y.dtype, y.item()], ["int32", 16777220]);
  assertEquals(tf.matMul(tf.tensor([[2]], [1, 1], "int32"), [[0.5]]).dtype, "float32");
  assertEquals(
    tf.matMul(tf.tensor([[1.5]], [1, 1], "float64"), tf.tensor([[2]], [1, 1], "float64")).item(),
    3,
  );
});

testOnDevices("matMul() of nothing is nothing, and of empty sums zero", () => {
  assertEquals(tf.matMul(tf.zeros([0, 3]), tf.zeros([3, 2])).shape, [0, 2]);
  assertEquals(tf.matMul(tf.zeros([2, 0]), tf.zeros([0, 3])).arraySync(), [[0, 0, 0], [0, 0, 0]]);
});

testOnDevices("matMul() sends a batch's gradient to a shared operand once", () => {
  const a = tf.tensor(noise("float32", [2, 3, 4], 1)), b = tf.tensor(noise("float32", [4, 5], 2));
  const [da, db] = tf.grads((x, y) => tf.sum(tf.matMul(x, y)))([a, b]);
  assertEquals([da.shape, db.shape], [[2, 3, 4], [4, 5]]);
  const columns = tf.sum(a, [0, 1]).dataSync() as Float32Array;
  const got = db.dataSync() as Float32Array;
  for (let i = 0; i < 4; i++) {
    for (let j = 0; j < 5; j++) assertAlmostEquals(got[i * 5 + j], columns[i], 1e-5);
  }
});

testOnDevices("matMul() names what does not fit", () => {
  assertThrows(
    () => tf.matMul(tf.zeros([2, 3]), tf.zeros([4, 5])),
    tf.ValueError,
    "Cannot multiply float32[2,3] by float32[4,5] in MatMul: inner dimensions must be equal, received 3 and 4",
  );
  assertThrows(() => tf.matMul(tf.zeros([3]), tf.zeros([3, 2])), tf.ValueError, "rank");
});

testOnDevices("dot() and outerProduct() follow the ranks", () => {
  assertEquals(tf.dot([1, 2, 3], [4, 5, 6]).item(), 32);
  assertEquals(tf.dot([1, 2], [[1, 2], [3, 4]]).arraySync(), [7, 10]);
  assertEquals(tf.outerProduct([1, 2], [3, 4, 5]).arraySync(), [[3, 4, 5], [6, 8, 10]]);
  assertThrows(() => tf.dot([1, 2], [1, 2, 3]), tf.ValueError, "inner dimensions");
});

testOnDevices("dot() and outerProduct() leave only their result", () => {
  const v = tf.tensor1d([1, 2, 3]), before = tf.memory().numTensors;
  tf.dispose([tf.dot(v, v), tf.outerProduct(v, v)]);
  assertEquals(tf.memory().numTensors, before);
  v.dispose();
});

Deno.test("matMul() infers what partial shapes allow", () => {
  new tf.Graph().asDefault(() => {
    const a = tf.placeholder("float32", [null, 3]), b = tf.placeholder("float32", [3, null]);
    assertEquals(tf.matMul(a, b).staticShape, [null, null]);
    assertEquals(tf.matMul(a, tf.zeros([3, 7])).staticShape, [null, 7]);
    assertEquals(tf.matMul(tf.placeholder("float32"), b).staticShape, null);
  });
});

testOnDevices("fused.matMul() adds bias and applies the activation", () => {
  const a = tf.tensor([[1, 2], [3, 4]]), b = tf.tensor([[1, -1], [1, -1]]);
  assertEquals(tf.fused.matMul({ a, b, bias: [1, 1] }).arraySync(), [[4, -2], [8, -6]]);
  assertEquals(tf.fused.matMul({ a, b, bias: [1, 1], activation: "relu" }).arraySync(), [[4, 0], [
    8,
    0,
  ]]);
  assertEquals(
    tf.fused.matMul({ a, b, activation: "prelu", preluActivationWeights: [2, 10] }).arraySync(),
    [[3, -30], [7, -70]],
  );
  assertThrows(
    () => tf.fused.matMul({ a, b, activation: "softmax" as "relu" }),
    tf.ValueError,
    "Unknown fused activation",
  );
});

testOnDevices("fused.matMul() is the product, a bias and an activation", () => {
  const draw = (shape: number[]) => tf.randomUniform(shape, -1, 1, "float32", 5);
  const near = (a: tf.Tensor, b: tf.Tensor, what: string) => {
    assertEquals(a.shape, b.shape, what);
    const wanted = b.dataSync();
    (a.dataSync() as Float32Array).forEach((v, i) =>
      assertAlmostEquals(Number(v), Number(wanted[i]), 1e-5, what)
    );
  };
  const activations: Record<string, (x: tf.Tensor, alpha: tf.Tensor) => tf.Tensor> = {
    linear: (x) => x,
    relu: (x) => tf.relu(x),
    relu6: (x) => tf.relu6(x),
    elu: (x) => tf.elu(x),
    sigmoid: (x) => tf.sigmoid(x),
    leakyrelu: (x) => tf.leakyRelu(x, 0.3),
    prelu: (x, alpha) => tf.prelu(x, alpha),
  };
  // Flat, transposed, with leading axes, and with a batch on both sides.
  const forms: [a: number[], b: number[], transposeA: boolean, transposeB: boolean][] = [
    [[2, 3], [3, 4], false, false],
    [[3, 2], [4, 3], true, true],
    [[5, 2, 3], [3, 4], false, false],
    [[5, 2, 3], [5, 3, 4], false, false],
  ];
  let place = 0;
  for (const [p, q, transposeA, transposeB] of forms) {
    const a = draw(p), b = draw(q), product = tf.matMul(a, b, transposeA, transposeB);
    for (const [activation, apply] of Object.entries(activations)) {
      for (const bias of [undefined, draw([4]), draw([1])]) {
        // One slope for all, one a column, one an element.
        const slopes = [draw([1]), draw([4]), draw(product.shape.slice(-2))];
        for (const alpha of activation === "prelu" ? slopes : slopes.slice(0, 1)) {
          if (!isOfTheDay(place++, 3)) continue;
          const fused = tf.fused.matMul({
            ...{ a, b, transposeA, transposeB, leakyreluAlpha: 0.3 },
            activation: activation as "relu",
            ...(bias ? { bias } : {}),
            ...(activation === "prelu" ? { preluActivationWeights: alpha } : {}),
          });
          const wanted = apply(bias ? tf.add(product, bias) : product, alpha);
          near(fused, wanted, `${activation} of [${p}] [${q}]`);
        }
      }
    }
  }
});
