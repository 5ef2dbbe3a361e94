// Your functions inside loops of the graph: called at each turn, with what the loop carries.
import * as tf from "@weft/weft";

// A random walk that turns back at walls; the host says where it may go.
function bounce(place) {
  const [x, speed] = place.data;
  const next = x + speed;
  return Float32Array.of(next, next < 0 || next > 3 ? -speed : speed);
}

const walk = tf.function(function walk(start) {
  return tf.scan(
    (place) => tf.numpyFunction(bounce, [place], tf.TensorSpec([2], "float32")),
    tf.range(0, 8),
    { initializer: start },
  );
});
const places = await walk.async(tf.tensor([1, 1]));
console.log("places", (await places.array()).map(([x]) => x));

// Rows of a map do not wait for each other: what their scripts want is read together.
const word = (n) => ["none", "one", "two", "three"][n.item()];
const words = tf.function(function words(counts) {
  return tf.mapFn((n) => tf.numpyFunction(word, [n], tf.TensorSpec([], "string")), counts);
});
console.log(await (await words.async(tf.tensor([2, 0, 3], [3], "int32"))).array());
