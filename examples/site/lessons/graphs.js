// Graphs by hand, as in TensorFlow 1: build once, then run what is asked for with what is fed.
import * as tf from "@weft/weft";

const graph = new tf.Graph();
const { x, y, z, count, more, init } = graph.asDefault(() => {
  const x = tf.placeholder("float32", [null], "x");
  const y = tf.nameScope("line", () => tf.add(tf.mul(x, 2), 1));
  const z = tf.nameScope("square", () => tf.square(y));
  const count = tf.variable(tf.scalar(0, "int32"), false, "count");
  const more = count.assignAdd(tf.scalar(1, "int32"));
  return { x, y, z, count, more, init: tf.compat.v1.globalVariablesInitializer() };
});

const session = new tf.Session({ graph });
await session.run(init);
const feeds = new Map([[x, [1, 2, 3]]]);

// Fetches come in the nest in which they are asked for, and only what they need is run.
const { line, square } = await session.run({ line: y, square: z }, { feeds });
console.log("line", line.toArray(), "square", square.toArray());

// What was computed may be fed as well.
console.log("fed in the middle", (await session.run(z, { feeds: new Map([[y, [10]]]) })).toArray());

await session.run(more);
await session.run(more);
console.log("count", await session.run(count));
await session.close();
