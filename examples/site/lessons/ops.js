// Ops have TensorFlow's names; shapes broadcast as in NumPy.
import * as tf from "@weft/weft";

const x = tf.linspace(-2, 2, 9);
console.log("x", await x.data());
console.log("relu", await tf.relu(x).data());
console.log("softmax", await tf.softmax(x).data());

const table = tf.reshape(tf.range(0, 12, 1, "float32"), [3, 4]);
const row = tf.tensor([0, 100, 200, 300]);
console.log("with a row added", await tf.add(table, row).array());
console.log("mean of each column", await tf.mean(table, 0).data());
console.log("product", await tf.matMul(table, tf.transpose(table)).array());

// tidy frees what was made on the way.
const norm = tf.tidy(() => tf.sqrt(tf.sum(tf.square(table))));
console.log("norm", (await norm.data())[0]);
