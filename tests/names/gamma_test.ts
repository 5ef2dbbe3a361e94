/** Draws of gamma distributions: TensorFlow's numbers, and their gradients. */
import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { assertClose } from "../tf/close.ts";

// TensorFlow 2.21: tf.random.stateless_gamma([2, 3], [1, 2], [0.5, 1, 2]).
const DRAWN = [0.06695361, 2.2487352, 2.2619925, 0.62823546, 1.8935091, 1.4950695];
const { statelessGamma } = tf.random;

testOnDevices("statelessGamma() draws TensorFlow's numbers", async () => {
  const flat = async (x: tf.Tensor) => [...await x.data()] as number[];
  const draw = (alpha: tf.TensorLike) => statelessGamma([2, 3], [1, 2], alpha);
  assertClose(await flat(draw([0.5, 1, 2])), DRAWN, 1e-6, "eager");
  const open = tf.function((alpha: tf.Tensor) => draw(alpha), {
    inputSignature: [new tf.TensorSpec([null], "float32")],
  });
  assertEquals((await flat(open(tf.tensor([0.5, 1, 2])) as tf.Tensor)).length, 6);
  const halves = await flat(statelessGamma([2, 3], [1, 2], [0.5, 1, 2], [2, 2, 2]));
  assertClose(halves, DRAWN.map((v) => v / 2), 1e-6, "rates");
  assertEquals(await flat(statelessGamma([4, 0], [1, 2], 1)), []);
  for (const alpha of [[1, 2], [[1], [2]]]) {
    assertThrows(() => draw(alpha), tf.ValueError, "it must end with");
  }
});

testOnDevices(
  "draws of gamma distributions have gradients in the shapes",
  async () => {
    for (const alpha of [0.3, 1, 2]) {
      const mean = (a: tf.Tensor): tf.Tensor => tf.mean(statelessGamma([20000], [5, 6], a));
      // The mean of the distribution is its shape, whose slope is 1.
      const slope = tf.grad(mean)(tf.scalar(alpha)) as tf.Tensor;
      assertAlmostEquals(await slope.item() as number, 1, 0.06);
    }
    const x = tf.tensor([2, 3]);
    const loss = (a: tf.Tensor) => tf.sum(tf.square(statelessGamma([3, 2], [7, 8], a, 2)));
    const eager = await (tf.grad(loss)(x) as tf.Tensor).data();
    const compiled = await (tf.function((a: tf.Tensor) => tf.grad(loss)(a) as tf.Tensor)(x)).data();
    assertClose([...compiled] as number[], [...eager] as number[], 1e-5, "compiled");
    const drawn = (a: tf.Tensor) => tf.sum(tf.randomGamma([4, 3], a, 1, "float32", 5));
    assertEquals((tf.grad(drawn)(x) as tf.Tensor).shape, [2]);
    assertEquals(tf.randomGamma([4, 3], x).shape, [4, 3, 2]);
    const graph = new tf.Graph();
    const dx = graph.asDefault(() => {
      const a = tf.placeholder("float32", [null], "a");
      return tf.gradients(loss(a), [a])[0] as tf.Tensor;
    });
    await using session = new tf.Session({ graph });
    const run = await session.run(dx, { feeds: { "a:0": [2, 3] } }) as tf.NdArray;
    assertEquals(run.shape, [2]);
  },
);
