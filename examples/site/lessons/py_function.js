// A function of tensors that may branch on values, in a graph and with a gradient:
// it runs eagerly, under a tape, whenever the graph gets there.
import * as tf from "@weft/weft";

async function logHuber(x, m) {
  const isSmall = Math.abs(await x.array()) <= await m.array();
  console.log("  takes the", isSmall ? "square" : "logarithm");
  if (isSmall) return tf.square(x);
  const square = tf.log(tf.square(x));
  return tf.mul(tf.square(m), tf.add(tf.sub(1, tf.mul(2, tf.log(m))), square));
}

const graph = new tf.Graph();
const { x, m, y, dx } = graph.asDefault(() => {
  const x = tf.placeholder("float32", [], "x"), m = tf.placeholder("float32", [], "m");
  const y = tf.pyFunction(logHuber, [x, m], tf.TensorSpec([], "float32"));
  return { x, m, y, dx: tf.gradients(y, [x])[0] };
});

const session = new tf.Session({ graph });
for (const value of [1, 3]) {
  const [loss, slope] = await session.run([y, dx], { feeds: new Map([[x, value], [m, 2]]) });
  console.log("x", value, "loss", loss, "slope", slope);
}
await session.close();
