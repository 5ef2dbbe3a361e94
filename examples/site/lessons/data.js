// Pipelines: elements are made, shuffled, changed and batched while the last ones are in use.
import * as tf from "@weft/weft";

const numbers = tf.data.range(10).map((n) => ({ n, square: tf.mul(n, n) }));
for await (const batch of numbers.batch(4).asNumpyIterator()) {
  console.log(batch.n.toArray(), "→", batch.square.toArray());
}

// Shuffling repeats with its seed; a host function changes each element.
const jitter = (x) => x.map((v) => Number(v) + 0.5);
const moved = tf.data.fromTensorSlices(tf.tensor([10, 20, 30, 40]))
  .shuffle(4, 7)
  .map((x) => tf.numpyFunction(jitter, [x], "float32"));
for await (const x of moved.asNumpyIterator()) console.log(x.item());
