// A numpy-style body is opaque to calculus: a vjp says what its gradient is.
import * as tf from "@weft/weft";

// The running sum of a row in a plain loop, and what a change of each element does to all later ones.
function runningSum(x) {
  let sum = 0;
  return { shape: x.shape, data: Float32Array.from(x.data, (v) => sum += v) };
}

function sums(x) {
  return tf.numpyFunction(runningSum, [x], "float32", {
    shapeFn: (spec) => spec,
    vjp: (_, dy) => [tf.cumsum(dy, 0, false, true)],
  });
}

const loss = tf.function(function loss(x) {
  return tf.sum(tf.mul(sums(x), tf.tensor([1, 10, 100])));
});
const x = tf.variable([1, 2, 3]);
const step = tf.function(function step() {
  const tape = new tf.GradientTape();
  return tape.gradient(loss(x), [x])[0];
});
console.log("loss", (await (await loss.async(x)).data())[0]);
console.log("gradient", await (await step.async()).data());
