/** Turns that a loop on a GPU begins before it knows of its end: the last is taken back. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../../devices.ts";

const X = [1, 2, 3, 4];

/** Bodies that may read from a GPU, and double: by a script, and by numbers that are the CPU's already. */
const DOUBLED: Readonly<Record<string, (y: tf.Tensor, two: tf.Tensor) => tf.Tensor>> = {
  "at a script": (y) =>
    tf.add(y, tf.numpyFunction((v: tf.NdArray) => v, [y], tf.TensorSpec([4], "float32"))),
  "as a whole": (y, two) => tf.mul(y, tf.cast(two, "float32")),
};

for (const [where, doubled] of Object.entries(DOUBLED)) {
  testOnDevices(`a loop's last turn, begun and dropped ${where}, has no gradient`, async () => {
    const graph = new tf.Graph();
    const fetches = graph.asDefault(() => {
      const x = tf.placeholder("float32", [4], "x"), two = tf.placeholder("float64", [], "two");
      const y = tf.whileLoop(
        (y) => tf.less(tf.sum(tf.square(y)), 1000),
        (y, two) => [doubled(tf.mul(y, 1), two), tf.sqrt(tf.square(two))],
        [x, two],
      )[0];
      return [y, ...tf.gradients(y, [x]) as tf.Tensor[]];
    });
    await using session = new tf.Session({ graph });
    const before = tf.memory().numTensors;
    const found = await session.run(fetches, { feeds: { "x:0": X, "two:0": 2 } }) as tf.NdArray[];
    // The squares' sum is 30, 120, 480, 1920.
    const by = where === "at a script" ? 1 : 8;
    assertEquals(found.map((a) => a.toArray()), [X.map((v) => 8 * v), X.map(() => by)]);
    assertEquals(tf.memory().numTensors, before);
  });
}
