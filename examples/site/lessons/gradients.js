// Gradients: of a function, under a tape, and of any order.
import * as tf from "@weft/weft";

const f = (x) => tf.add(tf.pow(x, 3), tf.mul(2, x));
const df = tf.grad(f), ddf = tf.grad(df);
const x = tf.scalar(2);
console.log("f(2)", await f(x).array());
console.log("f'(2)", await df(x).array());
console.log("f''(2)", await ddf(x).array());

// A tape notes what is done, and knows variables by itself.
const w = tf.variable([1, -2, 3]);
const tape = new tf.GradientTape();
const loss = tf.sum(tf.square(w));
const [dw] = tape.gradient(loss, [w]);
console.log("gradient of the loss", await dw.data());
