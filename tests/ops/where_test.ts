/** where() of a condition alone: the indices of what is true, which graphs know only when they run. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

testOnDevices("where() of a condition alone gives the places of what is not 0", async () => {
  const bits = [[true, false], [false, true]];
  tf.tidy(() => {
    assertEquals(tf.where(bits).arraySync(), [[0n, 0n], [1n, 1n]]);
    assertEquals(tf.where(tf.tensor([0, -2, 0.5])).arraySync(), [[1n], [2n]]);
    assertEquals(tf.where(tf.zeros([2, 3])).shape, [0, 2]);
  });
  const graph = new tf.Graph();
  const fetches = graph.asDefault(() => {
    const x = tf.placeholder("float32", [null, 2], "x"), at = tf.where(tf.greater(x, 0));
    assertEquals(at.staticShape, [null, 2]);
    const picked = tf.gatherND(x, at);
    return [picked, tf.gradients(picked, x)[0]!, tf.scatterND(at, picked, [2, 2])];
  });
  await using sess = new tf.Session({ graph });
  const found = await sess.run(fetches, { feeds: { "x:0": [[1, -2], [3, -4]] } }) as tf.NdArray[];
  assertEquals(found.map((a) => a.toArray()), [[1, 3], [[1, 0], [1, 0]], [[1, 0], [3, 0]]]);
});

testOnDevices("where() takes two values or none", () => {
  const both = "x and y must both be non-None or both be None";
  const where = tf.where as (...args: unknown[]) => tf.Tensor;
  assertThrows(() => where([true], 1), tf.ValueError, both);
  assertThrows(() => where([true], undefined, 1), tf.ValueError, both);
  assertThrows(() => where(["a"]), TypeError, "not in list of allowed values");
});
