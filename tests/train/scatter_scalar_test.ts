/** One row of a variable, by an index of rank 0, as TensorFlow takes it. */

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { apply } from "../../src/engine/core/apply.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { testOnDevices } from "../devices.ts";

testOnDevices("rows of variables are changed at one index", async () => {
  const change = (v: tf.Variable, how: string, index: number, rows: tf.Tensor): void => {
    const attrs = { dtype: v.dtype, _shape: v.shape };
    apply(lookupOp(`ResourceScatter${how}`)!, [v.handle, tf.scalar(index, "int32"), rows], attrs);
  };
  const v = tf.variable(tf.tensor([[1, 2], [3, 4]]));
  change(v, "Add", 1, tf.tensor([10, 20]));
  assertEquals(await v.array(), [[1, 2], [13, 24]]);
  change(v, "Sub", 0, tf.scalar(1));
  assertEquals(await v.array(), [[0, 1], [13, 24]]);
  change(v, "Update", 0, tf.tensor([5, 6]));
  assertEquals(await v.array(), [[5, 6], [13, 24]]);
  const wrong = (): void => change(v, "Add", 0, tf.tensor([1, 2, 3]));
  assertThrows(wrong, Error);
  const one = tf.variable(tf.tensor([1, 2, 3]));
  change(one, "Add", 2, tf.scalar(4));
  assertEquals(await one.array(), [1, 2, 7]);
});

testOnDevices("dot() of booleans counts, as matMul()", async () => {
  const x = tf.tensor([[true, false], [true, true]]), y = tf.tensor([true, true]);
  assertEquals(await tf.dot(x, x).array(), await tf.matMul(x, x).array());
  assertEquals(await tf.dot(x, y).array(), [1, 2]);
  assertEquals(tf.dot(y, y).dtype, "int32");
  assertEquals(await tf.dot(y, [0.5, 2]).array(), 2.5);
});
