// Devices: what runs where, and what moves in between.
import * as tf from "@weft/weft";

console.log("backend", tf.getBackend());
const x = tf.fill([256, 256], 0.5);
console.log("x lies on", x.device);

// tf.device puts ops where one wants them.
const onHost = tf.device("/CPU:0", () => tf.matMul(tf.fill([8, 8], 2), tf.fill([8, 8], 3)));
console.log("this lies on", onHost.device, "and holds", (await onHost.data())[0]);

// profile counts what a device did: one readback for all that is read at once.
const counts = await tf.profile(async () => {
  const y = tf.tanh(tf.matMul(x, x)), z = tf.sum(y);
  await Promise.all([z.data(), tf.max(y).data()]);
});
console.log("dispatches", counts.dispatches, "readbacks", counts.readbacks);

// In a function the ops between two products are one kernel.
const f = tf.function(function layer(x) {
  return tf.sum(tf.tanh(tf.add(tf.mul(tf.matMul(x, x), 0.1), 1)));
});
const first = await f.async(x);
const again = await tf.profile(() => f.async(x));
console.log("as a function:", again.dispatches, "dispatches; result", (await first.data())[0]);
