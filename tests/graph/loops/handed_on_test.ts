/** Gradients of loops' variables that turns hand on as they came, and of those that nothing reads. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../../devices.ts";

type Four = [tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor];

/** A turn: the first is handed on, the second grows, the third and the fourth change places. */
const turn = ([w, a, b, c]: Four): Four => [w, tf.mul(a, w), c, tf.add(b, tf.mul(a, 0.5))];

const looped = (w: tf.Tensor, x: tf.Tensor): Four =>
  tf.whileLoop(
    (i) => tf.less(i as tf.Tensor, 3),
    (i, ...four) => [tf.add(i as tf.Tensor, 1), ...turn(four as Four)],
    [tf.scalar(0, "int32"), w, x, tf.mul(x, 2), tf.mul(x, 3)],
  ).slice(1) as Four;
const unrolled = (w: tf.Tensor, x: tf.Tensor): Four =>
  turn(turn(turn([w, x, tf.mul(x, 2), tf.mul(x, 3)])));

testOnDevices("turns hand variables on with their gradients, and need not be reached", async () => {
  using _scope = tf.scope();
  const w = tf.tensor([2, -1]), x = tf.tensor([0.5, 3]);
  const compiled = tf.function((w: tf.Tensor, x: tf.Tensor) =>
    looped(w, x)
  ) as unknown as typeof looped;
  for (let set = 1; set < 16; set++) {
    const slopes = async (f: typeof looped) => {
      using tape = new tf.GradientTape();
      tape.watch([w, x]);
      const read = f(w, x).filter((_, k) => (set >> k & 1) === 1);
      const total = read.map((y) => tf.sum(tf.mul(y, [1, 2]))).reduce((a, b) => tf.add(a, b));
      const found = tape.gradient(total, [w, x]) as (tf.Tensor | null)[];
      return await Promise.all(found.map((g) => g?.array() ?? [0, 0]));
    };
    const want = await slopes(unrolled);
    assertEquals(await slopes(looped), want, `eagerly, results ${set}`);
    assertEquals(await slopes(compiled), want, `compiled, results ${set}`);
  }
});
