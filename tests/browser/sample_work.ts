/**
 * A piece of work that is done in Deno and elsewhere, to compare the results: ops, a loop, gradients
 * and random numbers.
 */

import * as tf from "@weft/weft";

export { syncReads } from "./sync_reads.ts";

/** Results by name. */
export type WorkResults = Readonly<Record<string, readonly number[]>>;

/** Does the work on a device. Throws where the device cannot be had. */
export async function sampleWork(device: "cpu" | "webgpu"): Promise<WorkResults> {
  if (!await tf.setBackend(device)) throw new Error(`Cannot use the device "${device}"`);
  const results: Record<string, tf.Tensor> = {};
  const x = tf.randomUniform([4, 6], -1, 1, "float32", 7);
  const w = tf.linspace(-1, 1, 18).reshape([6, 3]);
  results.random = x;
  results.product = tf.matMul(x, w);
  results.softmax = tf.softmax(tf.mul(results.product, 2));
  results.sines = tf.sin(x).add(tf.tanh(tf.exp(x)));
  results.image = tf.conv2d(
    x.reshape([1, 4, 6, 1]),
    tf.linspace(-1, 1, 18).reshape([3, 3, 1, 2]),
    1,
    "same",
  );
  results.largest = tf.topk(x, 2).indices;
  results.sums = tf.cumsum(tf.round(tf.mul(x, 10)).cast("int32"), 1);
  results.gradient = tf.grad((v: tf.Tensor) => tf.sum(tf.softplus(tf.matMul(v, w))))(x);
  const half = tf.function((v: tf.Tensor) =>
    tf.whileLoop((u) => tf.greater(tf.max(u), 0.1), (u) => [tf.mul(u, 0.5)], [v])[0]
  );
  results.loop = await half.async(tf.abs(x)) as tf.Tensor;
  const numbers: Record<string, number[]> = {};
  for (const [name, tensor] of Object.entries(results)) {
    numbers[name] = Array.from(await tensor.data() as Float32Array);
  }
  tf.dispose([w, results]);
  return numbers;
}

/** Returns the CPU device's description of itself. */
export function describeCpu(): string {
  return tf.listDevices()[0].description;
}
