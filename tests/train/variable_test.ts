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
