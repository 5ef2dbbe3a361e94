import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

testOnDevices("ops on variables leave nothing but their results", () => {
  using v = tf.variable([1, 2]), w = tf.variable([3, 4]);
  const before = tf.memory().numTensors;
  tf.mul(v, w).dispose();
  tf.cast(v, "float32").dispose();
  v.assign(w);
  v.assignAdd(v);
  v.assignSub([1, 1]);
  assertEquals([v.arraySync(), w.arraySync()], [[5, 7], [3, 4]]);
  assertEquals(tf.memory().numTensors, before);
});

testOnDevices("what was computed or read from a variable outlives its next value", () => {
  using v = tf.variable([1, 2]);
  using column = tf.reshape(v, [2, 1]);
  using value = v.readValue();
  using tape = new tf.GradientTape();
  const y = tf.mul(v, v);
  v.assign([7, 8]);
  assertEquals([column.arraySync(), value.arraySync(), v.arraySync()], [[[1], [2]], [1, 2], [
    7,
    8,
  ]]);
  assertEquals((tape.gradient(y, v) as tf.Tensor).arraySync(), [2, 4]);
});

testOnDevices("nobody but the variable frees its value", () => {
  const v = tf.variable([1, 2]);
  tf.tidy(() => {
    tf.add(v, 1);
    tf.identity(v).dispose();
  });
  assertEquals(v.arraySync(), [1, 2]);
  v.dispose();
  assertThrows(() => tf.add(v, 1), tf.errors.FailedPreconditionError, "has been deleted");
});

testOnDevices("a variable's name is its own until it is disposed", () => {
  const v = tf.variable([1], true, "only");
  const before = tf.memory().numTensors;
  assertThrows(
    () => tf.variable([2], true, "only"),
    tf.ValueError,
    "Cannot make variable 'only': a variable of that name was already registered, dispose() it first",
  );
  assertEquals([v.arraySync(), tf.memory().numTensors], [[1], before]);
  // Default names skip those that are taken.
  using first = tf.variable([0]);
  const next = `Variable_${Number(/_(\d+)$/.exec(first.name)?.[1] ?? 0) + 1}`;
  using taken = tf.variable([0], true, next);
  using second = tf.variable([0]);
  assertEquals(new Set([first.name, taken.name, second.name]).size, 3);
  v.dispose();
  using again = tf.variable([2], true, "only");
  assertEquals(again.name, "only");
});
