/** Cells of recurrent networks. */
import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { gradCheck } from "@weft/weft/testing";
import { testOnDevices } from "../devices.ts";

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

testOnDevices("basicLSTMCell() computes a step of an LSTM", () => {
  // One input, one unit: gates are sums of two products and a bias.
  const kernel = [[0.1, 0.2, 0.3, 0.4], [-0.5, 0.6, 0.7, -0.8]], bias = [0.01, 0.02, 0.03, 0.04];
  const [x, c, h] = [0.9, -0.3, 0.4];
  const [i, j, f, o] = bias.map((b, k) => x * kernel[0][k] + h * kernel[1][k] + b);
  const state = sigmoid(i) * Math.tanh(j) + c * sigmoid(1 + f);
  const [c2, h2] = tf.basicLSTMCell(1, kernel, bias, [[x]], [[c]], [[h]]);
  assertAlmostEquals(c2.item(), state, 1e-6);
  assertAlmostEquals(h2.item(), Math.tanh(state) * sigmoid(o), 1e-6);
});

Deno.test("basicLSTMCell() is differentiated with respect to all it reads", () => {
  const make = (shape: number[]): tf.Tensor => tf.randomNormal(shape, 0, 0.5, "float32", 3);
  gradCheck(
    (kernel, bias, x, c, h) => tf.concat(tf.basicLSTMCell(1, kernel, bias, x, c, h), 1),
    [make([5, 8]), make([8]), make([2, 3]), make([2, 2]), make([2, 2])],
  );
});

testOnDevices("multiRNNCell() feeds each cell with the output of the one before", () => {
  const cell =
    (by: number): tf.LSTMCellFunc => (x, c, h) => [tf.add(c, by), tf.add(h, tf.mul(x, by))];
  const zero = tf.zeros([1, 1]);
  const [c, h] = tf.multiRNNCell([cell(2), cell(3)], [[1]], [zero, zero], [zero, zero]);
  assertEquals([...c, ...h].map((t) => t.item()), [2, 3, 2, 6]);
});

testOnDevices("cells leave no tensor behind but what they return", () => {
  const given = [tf.zeros([3, 8]), tf.zeros([8]), tf.ones([1, 1])], zero = tf.zeros([1, 2]);
  const [kernel, bias, x] = given;
  const before = tf.memory().numTensors;
  const step: tf.LSTMCellFunc = (x, c, h) => tf.basicLSTMCell(1, kernel, bias, x, c, h);
  const made = [step(x, zero, zero), tf.multiRNNCell([step], x, [zero], [zero])];
  assertEquals(tf.memory().numTensors, before + 4);
  tf.dispose(made);
  assertEquals(tf.memory().numTensors, before);
});

Deno.test("the cells refuse what does not fit", () => {
  const cell: tf.LSTMCellFunc = (_, c, h) => [c, h];
  assertThrows(
    () => tf.multiRNNCell([cell], [[1]], [], [[[1]]]),
    tf.ValueError,
    "received 0 and 1",
  );
  assertThrows(
    () => tf.basicLSTMCell(1, tf.zeros([2, 3]), tf.zeros([3]), [[1]], [[1]], [[1]]),
    tf.ValueError,
    "received gates of shape [1,3]",
  );
});
