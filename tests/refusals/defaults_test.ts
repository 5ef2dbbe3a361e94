/** Functions with omitted arguments, and functions of one rank beside those of any. */

import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";

type T = tf.Tensor;

const range = (...shape: number[]): T =>
  tf.reshape(tf.range(0, shape.reduce((a, b) => a * b)), shape);
const boxes = () => tf.tensor([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 0.5, 1, 1.5], [5, 5, 6, 6]]);
const scores = () => tf.tensor([0.9, 0.8, -2, 0.3]);
const [cube, block] = [range(2, 3, 4), range(2, 1, 3, 2)];
const stats = (): [
  T,
  T,
  T,
  T,
] => [tf.fill([2], 0.5), tf.fill([2], 1e-3), tf.ones([2]), tf.ones([2])];

/** Values of tensors, however they are nested. */
function values(result: unknown): unknown {
  if (result instanceof tf.Tensor) return result.arraySync();
  if (Array.isArray(result)) return result.map(values);
  return Object.entries(result as Record<string, T>).map(([key, t]) => [key, t.arraySync()]);
}

/** A call with arguments left out, and the same with all of them, as TensorFlow.js's documents have them. */
const CASES: Readonly<Record<string, readonly [() => unknown, () => unknown]>> = {
  nonMaxSuppression: [
    () => tf.image.nonMaxSuppression(boxes(), scores(), 4),
    () => tf.image.nonMaxSuppression(boxes(), scores(), 4, 0.5, -Infinity),
  ],
  "nonMaxSuppression of nulls": [
    () => tf.image.nonMaxSuppression(boxes(), scores(), 4, null as never, null as never),
    () => tf.image.nonMaxSuppression(boxes(), scores(), 4, 0.5, -Infinity),
  ],
  nonMaxSuppressionWithScore: [
    () => tf.image.nonMaxSuppressionWithScore(boxes(), scores(), 4),
    () => tf.image.nonMaxSuppressionWithScore(boxes(), scores(), 4, 0.5, -Infinity, 0),
  ],
  "nonMaxSuppressionWithScore of nulls": [
    () => tf.image.nonMaxSuppressionWithScore(boxes(), scores(), 4, null, null, null),
    () => tf.image.nonMaxSuppressionWithScore(boxes(), scores(), 4, 0.5, -Infinity, 0),
  ],
  nonMaxSuppressionPadded: [
    () => tf.image.nonMaxSuppressionPadded(boxes(), scores(), 4),
    () => tf.image.nonMaxSuppressionPadded(boxes(), scores(), 4, 0.5, -Infinity, false),
  ],
  concat1d: [() => tf.concat1d([[1, 2], [3]]), () => tf.tensor([1, 2, 3])],
  concat3d: [() => tf.concat3d([cube, cube], 1), () => tf.concat([cube, cube], 1)],
  concat4d: [() => tf.concat4d([block, block], -1), () => tf.concat([block, block], 3)],
  pad1d: [() => tf.pad1d([1, 2], [1, 2]), () => tf.tensor([0, 1, 2, 0, 0])],
  pad3d: [
    () => tf.pad3d(cube, [[1, 0], [0, 2], [0, 0]]),
    () => tf.pad(cube, [[1, 0], [0, 2], [0, 0]], 0),
  ],
  pad4d: [
    () => tf.pad4d(block, [[1, 0], [0, 2], [0, 0], [1, 1]]),
    () => tf.pad(block, [[1, 0], [0, 2], [0, 0], [1, 1]], 0),
  ],
  slice1d: [() => tf.slice1d([1, 2, 3, 4], 1, 2), () => tf.tensor([2, 3])],
  slice3d: [
    () => tf.slice3d(cube, [1, 0, 1], [1, 2, 2]),
    () => tf.slice(cube, [1, 0, 1], [1, 2, 2]),
  ],
  slice4d: [
    () => tf.slice4d(block, [1, 0, 1, 0], [1, 1, 2, 1]),
    () => tf.slice(block, [1, 0, 1, 0], [1, 1, 2, 1]),
  ],
  reverse1d: [() => tf.reverse1d([1, 2, 3]), () => tf.tensor([3, 2, 1])],
  reverse3d: [() => tf.reverse3d(cube, [0, 2]), () => tf.reverse(cube, [0, 2])],
  reverse4d: [() => tf.reverse4d(block, [-1]), () => tf.reverse(block, [3])],
  expandDims: [() => tf.expandDims([1, 2]), () => tf.tensor([[1, 2]])],
  batchNorm: [
    () => tf.batchNorm(block, ...stats()),
    () => tf.batchNorm(block, ...stats(), 0.001),
  ],
  batchNorm4d: [
    () => tf.batchNorm4d(block, ...stats()),
    () => tf.batchNorm(block, ...stats(), 0.001),
  ],
  randomStandardNormal: [
    () => tf.randomStandardNormal([3], "float32", 7),
    () => tf.randomNormal([3], 0, 1, "float32", 7),
  ],
  randomGamma: [
    () => tf.randomGamma([3], 2, undefined, "float32", 7),
    () => tf.randomGamma([3], 2, 1, "float32", 7),
  ],
  "randomGamma of a null rate": [
    () => tf.randomGamma([3], 2, null, "float32", 7),
    () => tf.randomGamma([3], 2, 1, "float32", 7),
  ],
  "randomGamma of a rate": [
    () => tf.randomGamma([3], 2, 4, "float32", 7),
    () => tf.mul(tf.randomGamma([3], 2, 1, "float32", 7), 0.25),
  ],
  euclideanNorm: [() => tf.euclideanNorm([[3, 4]]), () => tf.scalar(5)],
  "hammingWindow, TensorFlow's": [
    () => tf.mul(tf.signal.hammingWindow(4), 1),
    () => tf.tensor([0.08, 0.54, 1, 0.54]),
  ],
  "meshgrid of one": [() => tf.meshgrid([[1, 2], [3, 4]]), () => [tf.tensor([1, 2, 3, 4])]],
  "eye of int64": [() => tf.cast(tf.eye(2, 3, null, "int64"), "float32"), () => tf.eye(2, 3)],
  "range of int64 tensors": [
    () => tf.cast(tf.range(tf.scalar(1, "int64"), tf.scalar(7, "int64"), 2), "float32"),
    () => tf.tensor([1, 3, 5]),
  ],
  tensor5d: [() => tf.tensor5d([1, 2], [1, 1, 1, 1, 2]), () => tf.reshape([1, 2], [1, 1, 1, 1, 2])],
  tensor6d: [
    () => tf.tensor6d([1, 2], [1, 1, 1, 1, 1, 2]),
    () => tf.reshape([1, 2], [1, 1, 1, 1, 1, 2]),
  ],
  "topk of bool": [
    () => tf.topk(tf.tensor([false, true, true]), 2).indices,
    () => tf.tensor([1, 2], undefined, "int32"),
  ],
  "argMax of bool": [() => tf.argMax(tf.tensor([false, true, true])), () => tf.scalar(1, "int32")],
  "argMin of bool": [() => tf.argMin(tf.tensor([true, false, false])), () => tf.scalar(1, "int32")],
  "broadcastTo nothing": [() => tf.broadcastTo([[1], [2]], [2, 0]), () => tf.zeros([2, 0])],
  "broadcastTo of nothing": [
    () => tf.broadcastTo(tf.zeros([0, 1]), [0, 3]),
    () => tf.zeros([0, 3]),
  ],
  "roll of an empty axis": [() => tf.roll(tf.zeros([0, 2]), 1, 0), () => tf.zeros([0, 2])],
};

for (const [name, [left, whole]] of Object.entries(CASES)) {
  Deno.test(`what is left out has its default: ${name}`, () => {
    tf.tidy(() => assertEquals(values(left()), values(whole())));
  });
}

Deno.test("what is left out has its default: functions that are awaited", async () => {
  const of = async (...more: never[]) => {
    const {
      nonMaxSuppressionAsync,
      nonMaxSuppressionWithScoreAsync,
      nonMaxSuppressionPaddedAsync,
    } = tf.image;
    const results = [
      await nonMaxSuppressionAsync(boxes(), scores(), 4, ...more.slice(0, 2)),
      await nonMaxSuppressionWithScoreAsync(boxes(), scores(), 4, ...more),
      await nonMaxSuppressionPaddedAsync(boxes(), scores(), 4, ...more.slice(0, 2)),
    ];
    return results.map(values);
  };
  const wanted = await of(0.5 as never, -Infinity as never, 0 as never);
  const lists = [boxes(), scores()].map((t) => t.arraySync()) as [number[][], number[]];
  assertEquals(values(await tf.image.nonMaxSuppressionAsync(...lists, 4)), wanted[0]);
  assertEquals(await of(), wanted);
  assertEquals(wanted[0], [0, 3, 2]);
  const rows = [[1, 3, 2], [4, 0, 5]];
  assertEquals((await tf.inTopKAsync(rows, [1, 0])).arraySync(), [true, false]);
});

Deno.test("optimizers' arguments have the defaults of Keras and TensorFlow.js", () => {
  const { train } = tf;
  const configs: [tf.Optimizer, object][] = [
    [train.sgd(0.5), { learningRate: 0.5 }],
    [train.momentum(0.5, 0.8), { learningRate: 0.5, momentum: 0.8, useNesterov: false }],
    [train.adagrad(0.5), { learningRate: 0.5, initialAccumulatorValue: 0.1 }],
    [train.adadelta(), { learningRate: 0.001, rho: 0.95, epsilon: 1e-7 }],
    [train.adam(), { learningRate: 0.001, beta1: 0.9, beta2: 0.999, epsilon: 1e-7 }],
    [train.adamax(), { learningRate: 0.002, beta1: 0.9, beta2: 0.999, epsilon: 1e-7, decay: 0 }],
    [
      train.rmsprop(0.5),
      { learningRate: 0.5, decay: 0.9, momentum: 0, epsilon: 1e-7, centered: false },
    ],
  ];
  for (const [optimizer, config] of configs) assertEquals(optimizer.getConfig(), config);
});

Deno.test("functions of one rank refuse others", () => {
  const flat = tf.range(0, 4) as never;
  const refusals: [() => unknown, string][] = [
    [() => tf.pad3d(flat, [[0, 0]]), "pad3d"],
    [() => tf.pad4d(cube, [[0, 0], [0, 0], [0, 0]]), "pad4d"],
    [() => tf.slice3d(flat, [0, 0, 0], [1, 1, 1]), "rank"],
    [() => tf.slice4d(cube, [0, 0, 0, 0], [1, 1, 1, 1]), "rank"],
    [() => tf.reverse3d(flat, 0), "rank"],
    [() => tf.reverse4d(cube, 0), "rank"],
    [() => tf.concat3d([flat], 0), "rank"],
    [() => tf.tensor5d([1, 2], [1, 2]), "5 dimensions"],
    [() => tf.tensor6d([1, 2], [1, 2]), "6 dimensions"],
  ];
  for (const [call, says] of refusals) assertThrows(call, Error, says, String(call));
});

Deno.test("movingAverage() corrects for its start where it is told the step", () => {
  const average = (...more: [step?: number, zeroDebias?: boolean]) =>
    tf.movingAverage(tf.scalar(1), tf.scalar(3), 0.9, ...more).item() as number;
  assertAlmostEquals(average(undefined, false), 1.2, 1e-6);
  assertAlmostEquals(average(1), 3, 1e-6);
  assertAlmostEquals(average(2), 1 + 0.2 / 0.19, 1e-6);
  assertThrows(() => average(), tf.ValueError, "received no step");
});
