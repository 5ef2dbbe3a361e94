// Memory: tensors live on a device until they are freed. Ops never consume their inputs.
import * as tf from "@weft/weft";

const before = tf.memory().numTensors;
const x = tf.fill([1000], 2);
console.log("made", tf.memory().numTensors - before, "tensor of", 4 * x.size, "bytes");

// tidy frees all that was made in it but what it returns.
const mean = tf.tidy(() => tf.mean(tf.square(tf.sub(x, tf.mean(x)))));
console.log("after tidy there are", tf.memory().numTensors - before);

// A scope does the same where one must wait in between.
const scope = tf.scope();
const total = tf.sum(tf.exp(x));
console.log("sum", (await total.data())[0]);
scope[Symbol.dispose]();
console.log("after the scope", tf.memory().numTensors - before);

tf.dispose([x, mean]);
console.log("in the end", tf.memory().numTensors - before);
