// A training loop of one's own: one compiled step, called many times.
import * as tf from "@weft/weft";

// Points on two rings, to be told apart.
const points = [], labels = [];
for (let i = 0; i < 200; i++) {
  const angle = i * 2.4, radius = (i % 2 ? 1 : 2) + 0.2 * Math.sin(i * 12.9);
  points.push([radius * Math.cos(angle), radius * Math.sin(angle)]);
  labels.push([i % 2]);
}
const x = tf.tensor(points), y = tf.tensor(labels, undefined, "float32");

tf.setRandomSeed(1);
const w1 = tf.variable(tf.randomNormal([2, 16])), b1 = tf.variable(tf.zeros([16]));
const w2 = tf.variable(tf.randomNormal([16, 1], 0, 0.3)), b2 = tf.variable(tf.zeros([1]));
const logits = () => tf.add(tf.matMul(tf.tanh(tf.add(tf.matMul(x, w1), b1)), w2), b2);

const optimizer = tf.train.adam(0.05);
const step = tf.function(function step() {
  return optimizer.minimize(() => tf.losses.sigmoidCrossEntropy(y, logits()), true);
});

for (let i = 0; i <= 100; i++) {
  const loss = await step.async();
  if (i % 20 === 0) console.log("step", i, "loss", (await loss.data())[0].toFixed(4));
  loss.dispose();
}
const hits = tf.mean(tf.cast(tf.equal(tf.greater(logits(), 0), tf.greater(y, 0.5)), "float32"));
console.log("told apart:", (100 * (await hits.data())[0]).toFixed(1), "%");
