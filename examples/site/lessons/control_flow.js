// Control flow in graphs: which branch is taken and how often a loop turns is known only when it runs.
import * as tf from "@weft/weft";

// Collatz: half of an even number, three times an odd one and one more, until it is 1.
const collatz = tf.function(function collatz(n) {
  const even = (n) => tf.equal(tf.mod(n, 2), 0);
  return tf.whileLoop(
    (n) => tf.greater(n, 1),
    (n, steps) => [
      tf.cond(even(n), () => tf.floorDiv(n, 2), () => tf.add(tf.mul(n, 3), 1)),
      tf.add(steps, 1),
    ],
    [n, tf.scalar(0, "int32")],
  )[1];
});

for (const n of [6, 7, 27]) {
  const steps = await collatz.async(tf.scalar(n, "int32"));
  console.log(n, "comes to 1 in", (await steps.data())[0], "steps");
}
console.log("traced", collatz.traceCount, "time");

// A scan keeps what a loop saw on its way: here a running mean.
const means = tf.scan(
  (mean, x) => tf.add(tf.mul(mean, 0.5), tf.mul(x, 0.5)),
  tf.tensor([8, 4, 2, 6]),
);
console.log("running mean", await means.data());
