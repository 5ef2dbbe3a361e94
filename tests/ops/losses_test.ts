/** Losses: formulas, weights, reductions, gradients, errors. */

import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const LABELS = [[1, 0, 1], [0, 1, 1]];
const PREDICTIONS = [[0.8, 0.3, 0.4], [0.1, 0.9, 0.6]];
const flatLabels = LABELS.flat(), flatPredictions = PREDICTIONS.flat();

type Loss = (
  labels: tf.TensorLike,
  predictions: tf.TensorLike,
  weights?: tf.TensorLike | null,
  reduction?: tf.Reduction,
) => tf.Tensor;

const { NONE, MEAN, SUM, SUM_BY_NONZERO_WEIGHTS } = tf.Reduction;

const huber = (d: number) => (y: number, p: number): number => {
  const e = Math.abs(p - y);
  return e <= d ? e * e / 2 : d * e - d * d / 2;
};

/** Losses of elements, by the function and by a formula. */
const ELEMENTWISE: readonly [string, Loss, (y: number, p: number) => number][] = [
  ["absoluteDifference", tf.losses.absoluteDifference, (y, p) => Math.abs(y - p)],
  ["hingeLoss", tf.losses.hingeLoss, (y, p) => Math.max(0, 1 - (2 * y - 1) * p)],
  ["huberLoss", (y, p, w, r) => tf.losses.huberLoss(y, p, w, undefined, r), huber(1)],
  ["huberLoss of 0.3", (y, p, w, r) => tf.losses.huberLoss(y, p, w, 0.3, r), huber(0.3)],
  [
    "logLoss",
    (y, p, w, r) => tf.losses.logLoss(y, p, w, undefined, r),
    (y, p) => -y * Math.log(p + 1e-7) - (1 - y) * Math.log(1 - p + 1e-7),
  ],
  ["meanSquaredError", tf.losses.meanSquaredError, (y, p) => (y - p) ** 2],
  [
    "sigmoidCrossEntropy",
    (y, p, w, r) => tf.losses.sigmoidCrossEntropy(y, p, w, undefined, r),
    (y, p) => Math.log1p(Math.exp(p)) - y * p,
  ],
  [
    "sigmoidCrossEntropy, smoothed",
    (y, p, w, r) => tf.losses.sigmoidCrossEntropy(y, p, w, 0.2, r),
    (y, p) => Math.log1p(Math.exp(p)) - (y * 0.8 + 0.1) * p,
  ],
];

testOnDevices("losses are their formulas, weighted and reduced", () => {
  const weights = [[1, 2, 0], [0, 0.5, 3]], rows = [[2], [0]];
  for (const [name, loss, formula] of ELEMENTWISE) {
    const each = flatLabels.map((y, i) => formula(y, flatPredictions[i]));
    const check = (want: number, w?: tf.TensorLike, r?: tf.Reduction): void =>
      assertAlmostEquals(
        loss(LABELS, PREDICTIONS, w, r).item(),
        want,
        1e-5,
        `${name}, weights ${w}, reduction ${r}`,
      );
    const total = (w: readonly number[]): number => each.reduce((s, l, i) => s + l * w[i], 0);
    const ones = [1, 1, 1, 1, 1, 1], each1 = total(ones);
    check(each1 / 6);
    check(each1 / 6, undefined, MEAN);
    check(each1, undefined, SUM);
    check(total(weights.flat()) / 4, weights);
    check(total(weights.flat()) / 4, weights, SUM_BY_NONZERO_WEIGHTS);
    check(total(weights.flat()) / 6.5, weights, MEAN);
    check(total(weights.flat()), weights, SUM);
    // Weights that broadcast count once for each loss they meet.
    check(total([2, 2, 2, 0, 0, 0]) / 3, rows);
    check(total([2, 2, 2, 0, 0, 0]) / 6, rows, MEAN);
    check(each1 * 3 / 6, 3);
    // No weight at all is no loss.
    check(0, 0);
    const none = loss(LABELS, PREDICTIONS, weights, NONE);
    assertEquals(none.shape, [2, 3]);
    (none.dataSync() as Float32Array).forEach((l, i) =>
      assertAlmostEquals(l, each[i] * weights.flat()[i], 1e-5, name)
    );
  }
});

testOnDevices("softmaxCrossEntropy() takes rows as classes", () => {
  const logits = [[1, 2, 0.5], [0, -1, 3]], labels = [[0, 1, 0], [1, 0, 0]];
  const row = (z: number[], y: number[]): number => {
    const log = Math.log(z.reduce((s, v) => s + Math.exp(v), 0));
    return y.reduce((s, v, i) => s - v * (z[i] - log), 0);
  };
  const each = logits.map((z, i) => row(z, labels[i]));
  assertAlmostEquals(
    tf.losses.softmaxCrossEntropy(labels, logits).item(),
    (each[0] + each[1]) / 2,
    1e-5,
  );
  const smooth = labels.map((y) => y.map((v) => v * 0.7 + 0.1));
  assertAlmostEquals(
    tf.losses.softmaxCrossEntropy(labels, logits, [1, 0], 0.3, SUM).item(),
    row(logits[0], smooth[0]),
    1e-5,
  );
  const [dz] = tf.grads((z) => tf.losses.softmaxCrossEntropy(labels, z, null, 0, SUM))([
    tf.tensor(logits),
  ]);
  const sum = Math.exp(1) + Math.exp(2) + Math.exp(0.5);
  assertAlmostEquals((dz.arraySync() as number[][])[0][0], Math.E / sum, 1e-5);
  assertAlmostEquals((dz.arraySync() as number[][])[0][1], Math.exp(2) / sum - 1, 1e-5);
});

testOnDevices("cosineDistance() and computeWeightedLoss()", () => {
  const a = [[0.6, 0.8], [1, 0]], b = [[0.8, 0.6], [0, 1]];
  assertAlmostEquals(tf.losses.cosineDistance(a, b, 1).item(), (0.04 + 1) / 2, 1e-6);
  assertEquals(tf.losses.cosineDistance(a, b, 1, null, NONE).shape, [2, 1]);
  assertEquals(tf.losses.computeWeightedLoss([2, 4], [1, 0]).item(), 2);
});

testOnDevices("losses stay finite where logits are large, gradients too", () => {
  const z = tf.tensor([1000, -1000]);
  const [dz] = tf.grads((x) => tf.losses.sigmoidCrossEntropy([0, 1], x, null, 0, SUM))([z]);
  assertEquals(tf.losses.sigmoidCrossEntropy([0, 1], z, null, 0, SUM).item(), 2000);
  assertEquals(dz.arraySync(), [1, -1]);
  assertEquals(tf.losses.logLoss([1, 0], [1, 0], null, 0).item(), 0);
});

Deno.test("losses refuse shapes that differ and unknown reductions", () => {
  // As many numbers in another shape would be taken for other classes or rows.
  const logits = tf.ones([2, 3]);
  for (const shape of [[6], [1, 2, 3], [3, 2], [2, 2], [1, 3], []]) {
    assertThrows(
      () => tf.softmaxCrossEntropyWithLogits({ labels: tf.ones(shape), logits }),
      tf.ValueError,
      shape.length === 2
        ? `Shapes are [2,3] and [${shape}]`
        : "Shapes must be equal rank, but are 2",
    );
  }
  assertThrows(
    () => tf.losses.meanSquaredError([1, 2], [[1, 2]]),
    tf.ValueError,
    "Error in meanSquaredError: Shapes [2] of labels and [1,2] of predictions must match",
  );
  assertThrows(
    () => tf.losses.absoluteDifference([1], [1], null, 9 as tf.Reduction),
    tf.ValueError,
    "Unknown reduction: 9",
  );
  assertThrows(
    () => tf.losses.hingeLoss([1], {} as tf.Tensor),
    TypeError,
    "Argument 'predictions' passed to 'hingeLoss' must be a Tensor",
  );
  assertThrows(
    () => tf.losses.hingeLoss({} as tf.Tensor, [1]),
    TypeError,
    "Argument 'labels' passed to 'hingeLoss' must be a Tensor",
  );
});
