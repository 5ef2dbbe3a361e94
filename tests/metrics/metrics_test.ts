/** Metrics beside Keras: `make_keras_metrics.py` writes what Keras makes of two batches. */
import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import KERAS from "./keras_metrics.json" with { type: "json" };

const { metrics } = tf;
const thresholds = [0.2, 0.5, 0.9];

const METRICS: Record<keyof typeof KERAS, () => tf.metrics.LabelMetric> = {
  "accuracy": metrics.accuracy,
  "binaryAccuracy": metrics.binaryAccuracy,
  "categoricalAccuracy": metrics.categoricalAccuracy,
  "sparseCategoricalAccuracy": metrics.sparseCategoricalAccuracy,
  "topKCategoricalAccuracy": () => metrics.topKCategoricalAccuracy(2),
  "sparseTopKCategoricalAccuracy": () => metrics.sparseTopKCategoricalAccuracy(2),
  "meanSquaredError": metrics.meanSquaredError,
  "rootMeanSquaredError": metrics.rootMeanSquaredError,
  "meanAbsoluteError": metrics.meanAbsoluteError,
  "meanAbsolutePercentageError": metrics.meanAbsolutePercentageError,
  "cosineSimilarity": metrics.cosineSimilarity,
  "binaryCrossentropy": metrics.binaryCrossentropy,
  "binaryCrossentropy, logits": () => metrics.binaryCrossentropy({ fromLogits: true }),
  "categoricalCrossentropy": metrics.categoricalCrossentropy,
  "categoricalCrossentropy, logits": () => metrics.categoricalCrossentropy({ fromLogits: true }),
  "sparseCategoricalCrossentropy": metrics.sparseCategoricalCrossentropy,
  "precision": metrics.precision,
  "precision, thresholds": () => metrics.precision({ thresholds }),
  "recall": metrics.recall,
  "recall, thresholds": () => metrics.recall({ thresholds }),
  "auc": metrics.auc,
  "auc, few thresholds": () => metrics.auc({ numThresholds: 7 }),
  "auc, PR": () => metrics.auc({ curve: "PR" }),
  "f1Score": () => metrics.f1Score({ numClasses: 4 }),
  "f1Score, micro": () => metrics.f1Score({ numClasses: 4, average: "micro", threshold: 0.5 }),
  "f1Score, macro": () => metrics.f1Score({ numClasses: 4, average: "macro", threshold: 0.5 }),
  "f1Score, weighted": () => metrics.f1Score({ numClasses: 4, average: "weighted" }),
  "meanIoU": () => metrics.meanIoU(4),
};

type Batch = readonly [y: tf.Tensor, p: tf.Tensor, w: tf.Tensor];

function assertNear(from: tf.metrics.Metric | number[], wanted: unknown, message: string): void {
  const found = Array.isArray(from)
    ? from
    : [...tf.tidy(() => from.result()).dataSync() as Float32Array];
  const numbers = [wanted].flat() as number[];
  assertEquals(found.length, numbers.length, message);
  found.forEach((x, i) =>
    assertAlmostEquals(x, numbers[i], 2e-5 * Math.max(1, numbers[i]), message)
  );
}

for (const [name, make] of Object.entries(METRICS)) {
  const { batches, plain, weighted } = KERAS[name as keyof typeof KERAS];
  testOnDevices(
    `metric ${name} is Keras's over batches, eager, compiled and in sessions`,
    async () => {
      for (const isWeighted of [false, true]) {
        const tensors = batches.map((b) =>
          b.map((x) => tf.tensor(x as number[])) as unknown as Batch
        );
        const wanted = isWeighted ? weighted : plain;
        const options = (w: tf.Tensor) => isWeighted ? { sampleWeight: w } : {};
        for (const compiled of [false, true]) {
          using metric = make();
          const update = (y: tf.Tensor, p: tf.Tensor, w: tf.Tensor): void =>
            void metric.updateState(y, p, options(w));
          const inputSignature = tensors[0].map((t) =>
            new tf.TensorSpec([null, ...t.shape.slice(1)], "float32")
          );
          const step = compiled ? tf.function(update, { inputSignature }) : update;
          for (const batch of tensors) step(...batch);
          const way = `weights ${isWeighted}, compiled ${compiled}`;
          assertNear(metric, wanted, way);
          // The state goes on elsewhere, and the metric anew.
          using other = make();
          await other.setWeights(await metric.getWeights());
          assertNear(other, wanted, `${way}, restored`);
          metric.resetState();
          for (const batch of tensors) step(...batch);
          assertNear(metric, wanted, `${way}, after a reset`);
        }
        using metric = make();
        assertNear(await ofSession(metric, tensors, options), wanted, "session");
        tf.dispose(tensors.flat());
      }
    },
  );
}

/** The result of a metric in a session, whose state an operation updates for each batch. */
async function ofSession(
  metric: tf.metrics.LabelMetric,
  batches: readonly Batch[],
  options: (w: tf.Tensor) => tf.metrics.UpdateOptions,
): Promise<number[]> {
  const graph = new tf.Graph();
  const { fed, step, value } = graph.asDefault(() => {
    const fed = batches[0].map((t) => tf.placeholder("float32", [null, ...t.shape.slice(1)]));
    const step = metric.updateState(fed[0], fed[1], options(fed[2]))!;
    return { fed, step, value: metric.result() };
  });
  await using session = new tf.Session({ graph });
  for (const batch of batches) {
    const feeds = new Map(batch.map((t, i) => [fed[i], t.ndarraySync()]));
    await session.run(step, { feeds });
  }
  const found = await session.run(value);
  return found instanceof tf.NdArray ? [...found.data as Float32Array] : [Number(found)];
}

testOnDevices("updates of metrics read nothing back and leave no tensors", async () => {
  const y = tf.tensor([0, 1, 1]), p = tf.tensor([0.2, 0.7, 0.4]);
  const all = [metrics.auc(), metrics.precision(), metrics.binaryAccuracy(), metrics.meanIoU(2)];
  for (const metric of all) metric.updateState(y, p);
  const before = tf.memory().numTensors;
  const { readbacks } = await tf.profile(() => {
    for (const metric of all) metric.updateState(y, p);
  });
  assertEquals(readbacks, 0);
  assertEquals(tf.memory().numTensors, before);
  for (const metric of all) metric.dispose();
  assert(tf.memory().numTensors < before);
  tf.dispose([y, p]);
});

testOnDevices(
  "metrics accumulate in sessions, and take halves, whole numbers and booleans",
  async () => {
    using metric = metrics.meanAbsoluteError(), hits = metrics.accuracy(), all = metrics.mean();
    const graph = new tf.Graph();
    const { y, step, value } = graph.asDefault(() => {
      const y = tf.placeholder("float32", [null]);
      return { y, step: metric.updateState(y, [1, 2])!, value: metric.result() };
    });
    await using session = new tf.Session({ graph });
    for (const labels of [[1, 4], [3, 2]]) {
      await session.run(step, { feeds: new Map([[y, labels]]) });
    }
    assertEquals(Number(await session.run(value)), 1);
    assertEquals(metric.result().item(), 1);
    for (const dtype of ["float16", "int32", "float64"] as const) {
      hits.updateState(tf.tensor([1, 2], [2], dtype), tf.tensor([1, 3], [2], dtype));
    }
    hits.updateState(tf.tensor([true]), tf.tensor([true]));
    assertAlmostEquals(hits.result().item(), 4 / 7, 1e-6);
    all.updateState([[1, 2], [3, 4]], { sampleWeight: [1, 0] });
    assertEquals(all.result().item(), 1.5);
    using total = metrics.sum();
    total.updateState([1, 2]);
    total.updateState(4);
    assertEquals(total.result().item(), 7);
  },
);

testOnDevices("perplexity() leaves tokens out whose weight is 0", () => {
  using metric = metrics.perplexity();
  const logits = tf.log([[[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]]]);
  metric.updateState([[0, 2]], logits);
  assertAlmostEquals(metric.result().item(), 4, 1e-5);
  metric.resetState();
  metric.updateState([[0, 2]], logits, { sampleWeight: [[1, 0]] });
  assertAlmostEquals(metric.result().item(), 2, 1e-5);
});

Deno.test("metrics refuse what they cannot use", async () => {
  const cases: [() => unknown, string][] = [
    [() => metrics.accuracy().updateState([1, 2], [1]), "yTrue has shape [2], yPred [1]"],
    ...[
      metrics.sparseCategoricalAccuracy(),
      metrics.sparseTopKCategoricalAccuracy(1),
      metrics.sparseCategoricalCrossentropy(),
    ].map((metric): [() => unknown, string] => [
      () => metric.updateState(tf.ones([4, 3]), tf.ones([4])), // the wrong way round
      "has shape [4,3], yPred [4], wanted the same with one axis more in yPred",
    ]),
    [
      () => metrics.sparseCategoricalAccuracy().updateState([1, 2], tf.ones([3, 4])),
      "has shape [2], yPred [3,4]",
    ],
    [() => metrics.auc({ numThresholds: 1 }), "numThresholds"],
    [() => metrics.auc({ curve: "XY" as never }), "XY"],
    [() => metrics.f1Score({ numClasses: 0 }), "numClasses"],
    [() => metrics.f1Score({ numClasses: 2, average: "all" as never }), "average"],
    [() => metrics.precision({ limit: 1 } as never), "limit"],
    [() => metrics.topKCategoricalAccuracy(0), "k must be"],
    [() => metrics.mean().updateState([1], { sampleWeight: [[1, 2]] }), "sampleWeight has rank 2"],
    [() => metrics.mean().updateState([1], { weight: 1 } as never), "weight"],
  ];
  for (const [call, text] of cases) assertThrows(call, Error, text);
  using metric = metrics.mean();
  await assertRejects(() => metric.setWeights([]), tf.ValueError, "mean");
});

testOnDevices(
  "cross entropies share a part of each label among the classes, as Keras's do",
  async () => {
    const bits = [0, 0, 1, 1, 1, 0], unit = [0, 0.5, 0.3, 0.9, 0.6, 0.7];
    const hot = [[0, 1, 0], [0, 0, 1]], chances = [[0.05, 0.95, 0], [0.1, 0.8, 0.1]];
    for (
      const [make, labels, predicted, part, wanted, logits] of [
        [tf.metrics.binaryCrossentropy, bits, unit, 0.2, 0.9033163, 0.69390124],
        [tf.metrics.categoricalCrossentropy, hot, chances, 0.1, 1.4591359, 1.0060618],
      ] as const
    ) {
      for (const fromLogits of [false, true]) {
        using metric = make({ labelSmoothing: part, fromLogits });
        metric.updateState(labels as tf.TensorLike, predicted as tf.TensorLike);
        const [found] = await metric.result().data() as Float32Array;
        assertAlmostEquals(found, fromLogits ? logits : wanted, 1e-5);
      }
      assertThrows(
        () => make({ labelSmoothing: "0.1" as never }),
        TypeError,
        "Argument 'labelSmoothing' passed to",
      );
    }
  },
);

const INF = Infinity;

testOnDevices(
  "metrics of infinite predictions, of NaN and of labels without a class are Keras's",
  async () => {
    const { mean, precision, recall, topKCategoricalAccuracy } = metrics;
    const logits = { thresholds: 0 }, bits = [0, 1, 1, 0], far = [INF, 2, -INF, -1];
    const top = () => metrics.sparseTopKCategoricalAccuracy(2);
    const entropy = () => metrics.sparseCategoricalCrossentropy({ fromLogits: true });
    const cases: [tf.metrics.Metric, () => unknown, number[]][] = [];
    const ask = (
      make: () => tf.metrics.LabelMetric,
      [y, p, sampleWeight]: readonly tf.TensorLike[],
      ...wanted: number[]
    ): void => {
      const metric = make();
      cases.push([metric, () => metric.updateState(y, p, { sampleWeight }), wanted]);
    };
    const loss = mean();
    cases.push([loss, () => loss.updateState([[1, 2], [3, INF]], { sampleWeight: [1, 2] }), [INF]]);
    ask(metrics.meanSquaredError, [[[1, 2], [1, 1]], [[3, 5], [INF, 1]], [1, 1]], INF);
    ask(() => precision(logits), [bits, far], 0.5);
    ask(() => precision(logits), [bits, far, [1, 2, 3, 4]], 2 / 3);
    ask(() => recall(logits), [bits, far], 0.5);
    const f1 = () => metrics.f1Score({ numClasses: 2, threshold: 0.5 });
    ask(f1, [[[1, 0], [0, 1]], [[INF, 0.1], [0.2, -INF]]], 1, 0);
    ask(() => topKCategoricalAccuracy(2), [[[0, 0, 1]], [[INF, 0.3, 0.4]]], 0);
    ask(top, [[1, 0], [[NaN, 0.3, 0.4], [0.5, 0.1, 0.2]]], 0.5);
    ask(top, [[1, 7, -1], [[-1, -3, -4], [-5, -1, -2], [-1, -2, -3]]], 1 / 3);
    ask(entropy, [[1, 0], [[-INF, 2], [1, -INF]]], 0);
    ask(metrics.sparseCategoricalCrossentropy, [[1, 0], [[0, 2], [1, 3]]], 0.34657368);
    for (const [metric, update, wanted] of cases) {
      for (const compiled of [false, true]) {
        (compiled ? tf.function(() => void update()) : update)();
        const found = [...await metric.result().data() as Float32Array];
        wanted.forEach((x, i) => {
          if (x === INF) assertEquals(found[i], x, `${metric}, compiled ${compiled}`);
          else assertAlmostEquals(found[i], x, 1e-5, `${metric}, compiled ${compiled}`);
        });
      }
      metric.dispose();
    }
  },
);
