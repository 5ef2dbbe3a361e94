/** Filters, segments, diagonals, attentions and norms that differ between rows: `vmap`, its gradients and `vmap` of gradients. */

import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loopWarning } from "../../src/engine/batching/walk.ts";
import { testOnDevices } from "../devices.ts";

type Fn = (x: tf.Tensor) => tf.Tensor;

const images = (x: tf.Tensor): tf.Tensor4D =>
  tf.reshape(tf.concat([x, tf.sin(x), tf.cos(x), tf.mul(x, x)], 0), [2, 3, 4, 1]) as tf.Tensor4D;
const filterOf = (x: tf.Tensor, shape: readonly number[]): tf.Tensor4D =>
  tf.reshape(tf.slice(x, [0], [shape.reduce((a, b) => a * b, 1)]), shape) as tf.Tensor4D;

/** Functions of a row of six numbers: none of their ops, nor of their gradients', runs in a loop. */
const PROGRAMS: Readonly<Record<string, Fn>> = {
  "a convolution by its own filter": (x) =>
    tf.conv2d(images(x), filterOf(x, [2, 1, 1, 3]), 1, "same"),
  "a convolution with steps by its own filter": (x) =>
    tf.conv2d(images(x), filterOf(x, [2, 2, 1, 1]), 2, "valid"),
  "a depthwise convolution by its own filter": (x) =>
    tf.depthwiseConv2d(images(x), filterOf(x, [2, 1, 1, 2]), 1, "same"),
  "a dilation by its own filter": (x) =>
    tf.dilation2d(
      images(x),
      tf.reshape(tf.slice(x, [0], [2]), [2, 1, 1]) as tf.Tensor3D,
      1,
      "valid",
    ),
  "a diagonal": (x) => tf.linalg.diagPart(tf.reshape(x, [2, 3])),
  "a diagonal off the middle": (x) => tf.linalg.diagPart(tf.outerProduct(x, x), { k: [-1, 1] }),
  "a matrix of a diagonal": (x) => tf.matMul(tf.diag(x), tf.reshape(x, [6, 1])),
  "segments by its own ids": (x) =>
    tf.unsortedSegmentSum(tf.square(x), tf.cast(tf.greater(x, 0.4), "int32"), 2),
  "the largest of segments by its own ids": (x) =>
    tf.math.unsortedSegmentMax(x, tf.cast(tf.less(x, 0.4), "int32"), 2),
  "segments by ids that all rows share": (x) =>
    tf.math.segmentSum(tf.square(x), [0, 0, 1, 2, 2, 2]),
  attention: (x) => {
    const q = tf.reshape(x, [1, 3, 1, 2]);
    return tf.scaledDotProductAttention(q, tf.sin(q), tf.cos(q));
  },
  "a norm by its own scale": (x) =>
    tf.layerNorm(tf.reshape(x, [2, 3]), tf.slice(x, [1], [3]), [1, 2, 3]),
  "a batch norm of its own moments": (x) => {
    const { mean, variance } = tf.moments(tf.reshape(x, [3, 2]), 0);
    return tf.batchNorm(tf.reshape(x, [3, 2]), mean, variance, tf.slice(x, [2], [2]));
  },
  "boxes of its own image": (x) =>
    tf.image.cropAndResize(images(x), [[0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9]], [1, 0], [2, 2]),
  "blocks of a batch": (x) => tf.spaceToBatchND(images(x), [1, 2], [[0, 0], [0, 0]]),
  "a product of its elements": (x) => tf.cumprod(x),
  "a polygamma function": (x) => tf.math.polygamma(1, tf.add(tf.abs(x), 1)),
  "counts of its elements": (x) =>
    tf.mul(
      tf.cast(tf.bincount(tf.cast(tf.abs(tf.mul(x, 3)), "int32"), [], 4), "float32"),
      tf.sum(x),
    ),
};

const ROWS = [[0.7, -0.3, 1.1, 0.2, -0.9, 0.5], [0.1, 0.8, -0.4, 0.6, 1.3, -0.2]];

async function warnings(fn: () => Promise<void>): Promise<string[]> {
  const { write } = loopWarning, told: string[] = [];
  loopWarning.write = (text) => told.push(text);
  loopWarning.named.clear();
  try {
    await fn();
  } finally {
    loopWarning.write = write;
  }
  return told;
}

async function assertClose(found: tf.Tensor, wanted: readonly number[]): Promise<void> {
  const data = Array.from(await found.data(), Number);
  const isClose = data.length === wanted.length &&
    data.every((v, i) => Math.abs(v - wanted[i]!) <= 2e-4 * (1 + Math.abs(wanted[i]!)));
  if (!isClose) assertEquals(data, wanted);
}

for (const [name, fn] of Object.entries(PROGRAMS)) {
  testOnDevices(`vmap() of ${name} runs for all rows at once, with gradients`, async () => {
    using _scope = tf.scope();
    const slope = tf.grad((row: tf.Tensor) => tf.sum(tf.sin(fn(row))));
    const values: number[] = [], slopes: number[] = [];
    for (const row of ROWS) {
      values.push(...Array.from(await fn(tf.tensor(row)).data(), Number));
      slopes.push(...Array.from(await slope(tf.tensor(row)).data(), Number));
    }
    const told = await warnings(async () => {
      const x = tf.tensor(ROWS), mapped = tf.vmap(fn);
      await assertClose(mapped(x), values);
      await assertClose(await tf.function(mapped).async(x), values);
      // A row of rows.
      const nested = tf.vmap(tf.vmap(fn))(tf.stack([x, tf.reverse(x, 0)]));
      await assertClose(tf.gather(nested, 0), values);
      await assertClose(tf.reverse(tf.gather(nested, 1), 0), values);
      await assertClose(await tf.function(tf.vmap(slope)).async(x), slopes);
      await assertClose(tf.grad((x) => tf.sum(tf.sin(tf.vmap(fn)(x))))(x), slopes);
    });
    assertEquals(told, []);
  });
}

testOnDevices(
  "the gradients of a network for each example, and of networks by their own weights, are those of a loop",
  async () => {
    using _scope = tf.scope();
    const x = tf.randomNormal([3, 1, 6, 6, 2], 0, 1, "float32", 1);
    const w = tf.randomNormal([3, 3, 3, 2, 4], 0, 0.3, "float32", 2);
    const v = tf.randomNormal([3, 4, 5], 0, 0.3, "float32", 3);
    const loss = (x: tf.Tensor, w: tf.Tensor, v: tf.Tensor) => {
      const y = tf.relu(tf.conv2d(x as tf.Tensor4D, w as tf.Tensor4D, 2, "same"));
      return tf.sum(tf.square(tf.tanh(tf.matMul(tf.mean(y, [1, 2]), v))));
    };
    const slopes = tf.grads(loss), at = (t: tf.Tensor, i: number) => tf.gather(t, i);
    const told = await warnings(async () => {
      for (const inAxes of [[0, null, null], [null, 0, 0], [0, 0, 0]] as const) {
        const given = [x, w, v].map((t, i) => inAxes[i] === null ? at(t, 0) : t);
        const mapped = tf.vmap((...t: tf.Tensor[]) => slopes(t), { inAxes });
        const found = [mapped(...given), await tf.function(mapped).async(...given)];
        for (const [o] of given.entries()) {
          const byRow = [0, 1, 2].map((k) =>
            slopes(given.map((t, i) => inAxes[i] === null ? t : at(t, k)))[o]!
          );
          const wanted = Array.from(await tf.stack(byRow).data(), Number);
          for (const all of found) await assertClose(all[o]!, wanted);
        }
      }
    });
    assertEquals(told, []);
  },
);
