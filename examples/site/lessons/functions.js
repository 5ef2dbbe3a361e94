// tf.function traces a function once and compiles what it did into a graph.
// The picture shows the graph; the page "Inside" shows what is joined into one kernel.
import * as tf from "@weft/weft";

const layer = tf.function(function layer(x, w, b) {
  console.log("traced for", x.shape);
  return tf.tanh(tf.add(tf.matMul(x, w), b));
});

const w = tf.randomNormal([4, 3]), b = tf.zeros([3]);
for (let i = 0; i < 3; i++) {
  const y = await layer.async(tf.fill([2, 4], i), w, b);
  console.log("run", i, await y.array());
}
console.log("Traced", layer.traceCount, "time");
