import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const grid = (): tf.Tensor => tf.tensor([0, 1, 2, 3, 4, 5, 6, 7, 8], [3, 3, 1]);

testOnDevices("maxPool() and avgPool() do not count padding", () => {
  assertEquals(tf.maxPool(tf.neg(grid()), 2, 1, "same").flatten().arraySync(), [
    0,
    -1,
    -2,
    -3,
    -4,
    -5,
    -6,
    -7,
    -8,
  ]);
  assertEquals(tf.avgPool(grid(), 2, 1, "same").flatten().arraySync(), [
    2,
    3,
    3.5,
    5,
    6,
    6.5,
    6.5,
    7.5,
    8,
  ]);
  assertEquals(tf.avgPool(grid(), 3, 3, "valid").arraySync(), [[[4]]]);
});

testOnDevices("maxPool() passes over NaN", () => {
  assertEquals(tf.maxPool(tf.tensor([1, NaN, 3, 2], [2, 2, 1]), 2, 1, "valid").item(), 3);
});

testOnDevices("pooling takes three axes", () => {
  const x = tf.tensor([0, 1, 2, 3, 4, 5, 6, 7], [2, 2, 2, 1]);
  assertEquals(tf.maxPool3d(x, 2, 1, "valid").item(), 7);
  assertEquals(tf.avgPool3d(x, 2, 1, "valid").item(), 3.5);
});

testOnDevices("pool() leaves gaps between taps", () => {
  assertEquals(tf.pool(grid(), 2, "max", "valid", 2).item(), 8);
  assertEquals(tf.pool(grid(), 2, "avg", "valid", 2).item(), 4);
});

testOnDevices("maxPoolWithArgmax() gives the first of equals", () => {
  const x = tf.tensor([3, 3, 1, 3], [1, 2, 2, 1]);
  const { result, indexes } = tf.maxPoolWithArgmax(x, 2, 1, "valid");
  assertEquals([result.item(), indexes.item(), indexes.dtype], [3, 0, "int32"]);
});

testOnDevices("gradient of maxPool() goes to the first maximum, that of avgPool() to all", () => {
  const x = tf.tensor([1, 5, 5, 2], [2, 2, 1]);
  assertEquals(tf.grad((a) => tf.maxPool(a, 2, 1, "valid"))(x).flatten().arraySync(), [0, 1, 0, 0]);
  assertEquals(tf.grad((a) => tf.avgPool(a, 2, 1, "valid"))(x).flatten().arraySync(), [
    0.25,
    0.25,
    0.25,
    0.25,
  ]);
});

testOnDevices("dimRoundingMode decides about the last window", () => {
  const x = tf.ones([4, 4, 1]);
  assertEquals(tf.maxPool(x, 2, 3, 0, "floor").shape, [1, 1, 1]);
  assertEquals(tf.maxPool(x, 2, 3, 0, "ceil").shape, [2, 2, 1]);
});

Deno.test("pooling names what does not fit", () => {
  assertThrows(() => tf.maxPool(tf.ones([4, 4]), 2, 1, "same"), tf.ValueError, "rank");
  assertThrows(() => tf.maxPool(tf.ones([4, 4, 1]), 2, 1, 0.5), tf.ValueError, "pad");
  assertThrows(() => tf.avgPool(tf.ones([4, 4, 1]), 6, 1, "valid"), tf.ValueError, "negative");
});
