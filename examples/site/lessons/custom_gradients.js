// Gradients of one's own: where the rule is not the derivative that calculus gives.
import * as tf from "@weft/weft";

// Rounding has no slope. Let the gradient through as if nothing had been rounded.
const roundThrough = tf.customGrad((x) => ({ value: tf.round(x), gradFunc: (dy) => dy }));
const x = tf.tensor([0.2, 0.7, 1.4]);
console.log("rounded", await roundThrough(x).data());
const slope = tf.grad((x) => tf.sum(tf.square(roundThrough(x))));
console.log("gradient", await slope(x).data());

// stopGradient cuts: what comes before it is a constant.
const cut = tf.grad((x) => tf.mul(x, tf.stopGradient(x)));
console.log("x times a constant x", await cut(x).data());

// A tape that is kept gives the whole Jacobian: a row for each output.
const tape = new tf.GradientTape({ persistent: true });
tape.watch(x);
const y = tf.softmax(x);
console.log("Jacobian", await tape.jacobian(y, x).array());
