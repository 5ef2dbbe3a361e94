// tf.nn beside TensorFlow, and what it refuses.

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import RECORDED from "./fixtures/nn.json" with { type: "json" };
import { type Recorded, type Row, testTable } from "./harness.ts";

const { nn } = tf;

const AT = [[0, 0], [0, 2], [2, 0], [2, 1], [2, 4]];
const int = (values: readonly number[]): tf.Tensor =>
  tf.tensor(values as number[], undefined, "int32");
const IDS = [1, 3, 0, 5, 1], SIDS = [1, -3, 0, 5, 1];
const ids = () => new tf.SparseTensor(AT, int(IDS), [4, 5]);
const sids = () => new tf.SparseTensor(AT, int(SIDS), [4, 5]);
const by = (w: tf.Tensor) => new tf.SparseTensor(AT, w, [4, 5]);
const ragged = (values: readonly number[]) =>
  tf.RaggedTensor.fromRowSplits(int(values), [0, 2, 2, 5]);

const embeddings = Object.fromEntries(
  (["sum", "mean", "sqrtn"] as const).flatMap((combiner): [string, Row["body"]][] => [
    [`embeddingLookupSparse ${combiner}`, (p) => nn.embeddingLookupSparse(p, ids(), { combiner })],
    [
      `embeddingLookupSparse ${combiner} weights`,
      (p, w) => nn.embeddingLookupSparse(p, ids(), { combiner, weights: by(w) }),
    ],
    [
      `safeEmbeddingLookupSparse ${combiner}`,
      (p) => nn.safeEmbeddingLookupSparse(p, sids(), { combiner }),
    ],
    [
      `safeEmbeddingLookupSparse ${combiner} weights`,
      (p, w) => nn.safeEmbeddingLookupSparse(p, sids(), { combiner, weights: by(w), defaultId: 2 }),
    ],
  ]),
);

const pools = Object.fromEntries(
  (["same", "valid"] as const).flatMap((pad) =>
    ([[2, 1], [3, 2]] as const).flatMap(([size, stride]): [string, Row["body"]][] => [
      [
        `maxPool1d ${pad.toUpperCase()} ${size} ${stride}`,
        (x) => nn.maxPool1d(x, size, stride, pad),
      ],
      [
        `avgPool1d ${pad.toUpperCase()} ${size} ${stride}`,
        (x) => nn.avgPool1d(x, size, stride, pad),
      ],
    ])
  ),
);

const SAMPLE = [[2, 0, 5, 3], [[0.5, 1], [2, 0.25], [1, 1]], [0.5, 1.5, 2, 0.75]] as const;
const LABELS = [[1, 2], [0, 4], [3, 3]];

const sampled = Object.fromEntries(
  (["sampledSoftmaxLoss", "nceLoss"] as const).flatMap((fn) =>
    [true, false].map((removeAccidentalHits): [string, Row["body"]] => [
      `${fn} ${removeAccidentalHits}`,
      (weights, biases, inputs) =>
        nn[fn]({
          ...{ weights, biases, inputs, labels: LABELS, sampledValues: SAMPLE },
          removeAccidentalHits,
        }),
    ])
  ),
);

testTable("nn", RECORDED as unknown as Record<string, Recorded>, {
  silu: (x) => nn.silu(x),
  "silu beta": (x) => nn.silu(x, 1.5),
  swish: (x) => nn.swish(x),
  crelu: (x) => nn.crelu(x),
  "crelu 0": (x) => nn.crelu(x, 0),
  l2Loss: (x) => nn.l2Loss(x),
  weightedCrossEntropyWithLogits: (labels, logits) =>
    nn.weightedCrossEntropyWithLogits({ labels, logits, posWeight: 2.5 }),
  "weightedCrossEntropyWithLogits weights": (labels, logits, posWeight) =>
    nn.weightedCrossEntropyWithLogits({ labels, logits, posWeight }),
  logPoissonLoss: (t, x) => nn.logPoissonLoss(t, x),
  "logPoissonLoss full": (t, x) => nn.logPoissonLoss(t, x, { computeFullLoss: true }),
  ...pools,
  "conv1dTranspose SAME": (x, f) => nn.conv1dTranspose(x, f, [2, 14, 4], 2, "same"),
  "conv1dTranspose VALID": (x, f) => nn.conv1dTranspose(x, f, [2, 15, 4], 2, "valid"),
  "atrousConv2dTranspose SAME": (x, k) => nn.atrousConv2dTranspose(x, k, [1, 4, 5, 3], 2, "same"),
  "atrousConv2dTranspose VALID": (x, k) => nn.atrousConv2dTranspose(x, k, [1, 6, 9, 3], 2, "valid"),
  "erosion2d SAME": (x, k) => nn.erosion2d(x, k, 1, "same"),
  "erosion2d VALID": (x, k) => nn.erosion2d(x, k, [2, 1], "valid"),
  "erosion2d gaps": (x, k) => nn.erosion2d(x, k, 1, "same", [1, 2]),
  sufficientStatistics: (x) => {
    const { meanSs, varianceSs } = nn.sufficientStatistics(x, [0, -1]);
    return [meanSs, varianceSs];
  },
  "sufficientStatistics count": (x) => nn.sufficientStatistics(x, [0, -1]).count,
  "sufficientStatistics shift": (x, shift) =>
    nn.sufficientStatistics(x, [1], { shift, keepDims: true }).varianceSs,
  normalizeMoments: (count, meanSs, varianceSs) =>
    nn.normalizeMoments({ count, meanSs, varianceSs }),
  "normalizeMoments shift": (count, meanSs, varianceSs, shift) =>
    nn.normalizeMoments({ count, meanSs, varianceSs, shift }),
  "normalizeMoments variance": (count, meanSs, varianceSs) =>
    nn.normalizeMoments({ count, meanSs, varianceSs }).variance,
  batchNormWithGlobalNormalization: (x, mean, variance, beta, gamma) =>
    nn.batchNormWithGlobalNormalization(x, {
      ...{ mean, variance, beta, gamma, varianceEpsilon: 0.01, scaleAfterNormalization: true },
    }),
  "batchNormWithGlobalNormalization unscaled": (x, mean, variance, beta) =>
    nn.batchNormWithGlobalNormalization(x, {
      ...{ mean, variance, beta, gamma: beta, varianceEpsilon: 0.01 },
      scaleAfterNormalization: false,
    }),
  ctcUniqueLabels: (l) => nn.ctcUniqueLabels(l),
  // Rows of a batch would be as wide as their own longest one.
  collapseRepeated: { body: (l, n) => nn.collapseRepeated(l, n), rows: false },
  "collapseRepeated none": { body: (l, n) => nn.collapseRepeated(l, n), rows: false },
  isotonicRegression: (x) => nn.isotonicRegression(x),
  "isotonicRegression deep": (x) => nn.isotonicRegression(x),
  "isotonicRegression 0": (x) => nn.isotonicRegression(x, { axis: 0 }),
  "isotonicRegression up": (x) => nn.isotonicRegression(x, { decreasing: false }),
  "isotonicRegression ties": (x) => nn.isotonicRegression(x),
  ...embeddings,
  ...sampled,
  "embeddingLookupSparse maxNorm": (p) =>
    nn.embeddingLookupSparse(p, ids(), { combiner: "sum", maxNorm: 0.5 }),
  "embeddingLookupSparse ragged": (p) => nn.embeddingLookupSparse(p, ragged(IDS)),
  "safeEmbeddingLookupSparse ragged": (p) => nn.safeEmbeddingLookupSparse(p, ragged(SIDS)),
  "safeEmbeddingLookupSparse deep": (p) =>
    nn.safeEmbeddingLookupSparse(
      p,
      new tf.SparseTensor([[0, 0, 0], [0, 1, 1], [1, 1, 0]], int([1, 2, 3]), [2, 2, 2]),
    ),
});

testOnDevices(
  "tf.nn takes integers, empty tensors, inputs without batch and shapes in tensors",
  () => {
    using _s = tf.scope();
    assertEquals(nn.silu(int([0])).dtype, "float32");
    assertEquals(nn.l2Loss(int([3, 4])).item(), 12.5);
    assertEquals(nn.l2Loss(tf.zeros([0])).item(), 0);
    assertEquals(nn.crelu(int([2, -3])).dtype, "int32");
    assertEquals(nn.maxPool1d([[1], [3], [2]], 2, 1, "valid").arraySync(), [[3], [3]]);
    const x = tf.ones([2, 3, 1]), f = tf.ones([2, 1, 1]), dims = int([2, 4, 1]);
    assertEquals(nn.conv1dTranspose(x, f, dims, 1, "valid").shape, [2, 4, 1]);
    assertEquals(nn.conv1dTranspose([[1], [1]], f, [3, 1], 1, "valid").arraySync(), [[1], [2], [
      1,
    ]]);
    assertEquals(nn.isotonicRegression(tf.zeros([0, 3])).output.shape, [0, 3]);
    assertEquals(nn.isotonicRegression(tf.zeros([3, 0])).segments.shape, [3, 0]);
    assertEquals(nn.isotonicRegression(int([1, 2])).output.arraySync(), [1.5, 1.5]);
    assertEquals(nn.isotonicRegression([NaN, 1]).output.shape, [2]);
    assertEquals(nn.ctcUniqueLabels(tf.zeros([0, 3], "int32"))[0].shape, [0, 3]);
    assertEquals(nn.collapseRepeated(tf.zeros([2, 0], "int32"), [0, 0])[0].shape, [2, 0]);
    const none = new tf.SparseTensor(tf.zeros([0, 2], "int32"), tf.zeros([0], "int32"), [2, 3]);
    assertEquals(nn.embeddingLookupSparse(tf.ones([4, 2]), none).shape, [0, 2]);
    assertEquals(nn.safeEmbeddingLookupSparse(tf.ones([4, 2]), none).arraySync(), [[0, 0], [0, 0]]);
  },
);

testOnDevices("tf.nn checks its arguments", () => {
  using _s = tf.scope();
  // deno-lint-ignore no-explicit-any -- of other types than the parameters have
  const n = nn as any;
  const table = tf.ones([4, 2]), x = tf.ones([2, 3, 1]), f = tf.ones([2, 1, 1]);
  for (
    const [call, type, text] of [
      [() => n.silu("a"), TypeError, ""],
      [() => n.silu([1], "b"), TypeError, "'beta' passed to 'silu' must be a number"],
      [() => n.crelu([1], 1), tf.ValueError, "axis"],
      [() => n.l2Loss(null), TypeError, "'t' passed to 'l2Loss'"],
      [() => n.weightedCrossEntropyWithLogits(), TypeError, "Missing arguments"],
      [
        () => n.weightedCrossEntropyWithLogits({ labels: [1], logits: [1, 2], posWeight: 1 }),
        tf.ValueError,
        "labels and logits must have one shape, received [1] and [2]",
      ],
      [
        () => n.weightedCrossEntropyWithLogits({ labels: [1], logits: [1], weight: 1 }),
        TypeError,
        'did you mean "posWeight"',
      ],
      [() => n.logPoissonLoss([1], [1, 2]), tf.ValueError, "targets and logInput"],
      [() => n.logPoissonLoss([1], [1], { full: true }), TypeError, "full"],
      [
        () => n.maxPool1d(tf.ones([1, 2, 3, 4]), 2, 1, "valid"),
        tf.ValueError,
        "maxPool1d: x must be rank 2 or 3",
      ],
      [() => n.avgPool1d(x, [2], 1, "valid"), TypeError, "'filterSize' passed to 'avgPool1d'"],
      [() => n.conv1dTranspose(x, f, [4], 1, "valid"), tf.ValueError, "must have 2 or 3 entries"],
      [
        () => n.conv1dTranspose(x, tf.ones([2, 1]), [2, 4, 1], 1, "valid"),
        tf.ValueError,
        "filter must be rank 3",
      ],
      [
        () => n.conv1dTranspose(x, f, [2, 4, 1], 1, [[0, 0], [0, 0]]),
        tf.ValueError,
        "for the axis",
      ],
      [
        () => n.atrousConv2dTranspose(x, f, [1], 2, "valid"),
        tf.ValueError,
        "atrousConv2dTranspose",
      ],
      [() => n.erosion2d(tf.ones([2]), f, 1, "same"), tf.ValueError, "erosion2d"],
      [() => n.sufficientStatistics([1], [1]), tf.ValueError, "axis"],
      [() => n.sufficientStatistics([1], [0], { keepdim: true }), TypeError, "keepDims"],
      [() => n.normalizeMoments({}), TypeError, "meanSs"],
      [() => n.batchNormWithGlobalNormalization([1]), TypeError, "Missing arguments"],
      [() => n.ctcUniqueLabels([1]), tf.ValueError, "rank 2"],
      [() => n.ctcUniqueLabels(tf.tensor([[0.5]])), TypeError, "whole numbers"],
      [() => n.collapseRepeated([[1]], 1), tf.ValueError, "seqLength should be of rank 1"],
      [() => n.isotonicRegression(1), tf.ValueError, "axis -1 is out of range"],
      [() => n.isotonicRegression([1], { axis: 1 }), tf.ValueError, "axis 1 is out of range"],
      [() => n.isotonicRegression([1], { decrease: 1 }), TypeError, "decreasing"],
      [
        () => n.embeddingLookupSparse(table, [[1]]),
        TypeError,
        "must be a SparseTensor or a RaggedTensor",
      ],
      [() => n.embeddingLookupSparse(table, by(tf.ones([5]))), TypeError, "whole numbers"],
      [
        () => n.embeddingLookupSparse(table, ids(), { combiner: "max" }),
        tf.ValueError,
        'received "max"',
      ],
      [() => n.embeddingLookupSparse(table, ids(), { weights: [1] }), TypeError, "'weights'"],
      [() => n.nceLoss(), TypeError, "Missing arguments of nceLoss"],
      [
        () =>
          n.nceLoss({
            weights: table,
            biases: [1],
            labels: [[0]],
            inputs: [[1, 1]],
            sampledValues: [[0]],
          }),
        tf.ValueError,
        "must be three tensors, received 1",
      ],
      [
        () =>
          n.sampledSoftmaxLoss({
            ...{ weights: table, biases: [1, 1, 1, 1], labels: [0], inputs: [[1, 1]] },
            sampledValues: [[0], [[1]], [1]],
          }),
        tf.ValueError,
        "labels should be of rank 2",
      ],
      [() => n.safeEmbeddingLookupSparse(table, ids(), { defaultID: 1 }), TypeError, "defaultId"],
    ] as const
  ) {
    assertThrows(call, type as new () => Error, text, `${call}`);
  }
});
