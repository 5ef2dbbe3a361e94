/** Weights of samples beside Keras: `make_keras_weights.py` writes what its means make of them, or that it refuses them. */
import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices, testRowOnDevices } from "../devices.ts";
import KERAS from "./keras_weights.json" with { type: "json" };

const { metrics } = tf;
type Row = [name: string, shapes: number[][], weights: number[][] | null, result: number | null];
type Values = (shape: number[], batch: number, place: number) => tf.Tensor;

const made = (shape: number[], of: (i: number) => number): tf.Tensor =>
  tf.tensor(
    Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => of(i)),
    shape,
    "float32",
  );
const real: Values = (s, b, k) => made(s, (i) => (i * 37 + 11 * b + 5 * k) % 101 / 50 - 0.99);
const unit: Values = (s, b, k) => made(s, (i) => (i * 37 + 11 * b + 5 * k) % 97 / 97 + 0.005);
const bits: Values = (s, b, k) => made(s, (i) => (i * 53 + b + 3 * k) % 7 % 2);
const classes: Values = (s, b, k) => made(s, (i) => (i * 31 + b + 3 * k) % 11 % 4);
const short: Values = (s, b, k) => classes(s.slice(0, -1), b, k);
const hot: Values = (s, b, k) => tf.cast(tf.oneHot(tf.cast(short(s, b, k), "int32"), 4), "float32");

/** Metrics, and the labels and predictions that `make_keras_weights.py` gives them. */
const METRICS: Record<string, [make: () => tf.metrics.Metric, ...Values[]]> = {
  mean: [metrics.mean, real],
  sum: [metrics.sum, real],
  accuracy: [metrics.accuracy, classes, classes],
  binaryAccuracy: [metrics.binaryAccuracy, bits, unit],
  categoricalAccuracy: [metrics.categoricalAccuracy, hot, unit],
  sparseCategoricalAccuracy: [metrics.sparseCategoricalAccuracy, short, unit],
  topKCategoricalAccuracy: [() => metrics.topKCategoricalAccuracy(2), hot, unit],
  sparseTopKCategoricalAccuracy: [() => metrics.sparseTopKCategoricalAccuracy(2), short, unit],
  meanSquaredError: [metrics.meanSquaredError, real, real],
  rootMeanSquaredError: [metrics.rootMeanSquaredError, real, real],
  meanAbsoluteError: [metrics.meanAbsoluteError, real, real],
  meanAbsolutePercentageError: [metrics.meanAbsolutePercentageError, real, real],
  cosineSimilarity: [metrics.cosineSimilarity, real, real],
  binaryCrossentropy: [metrics.binaryCrossentropy, bits, unit],
  categoricalCrossentropy: [metrics.categoricalCrossentropy, hot, unit],
  sparseCategoricalCrossentropy: [metrics.sparseCategoricalCrossentropy, short, unit],
};
/** Metrics that must know the number of classes, and those that look for it at the end of labels. */
const OF_CLASSES = /^sparse|^topK/;

/** Shapes that a function knows of its arguments, by the shapes that they have. */
const KNOWN: Record<string, ((shape: number[]) => (number | null)[] | null) | null> = {
  eager: null,
  shapes: (shape) => shape,
  // Axes of 1 that broadcast or are missing are known, as in Keras.
  extents: (shape) => shape.map((n, i) => n === 1 || i === shape.length - 1 ? n : null),
  ranks: () => null,
};

function weightOf(shape: number[], b: number): tf.Tensor {
  return made(shape, (i) => (i * 29 + 3 * b + 1) % 19 / 8);
}

for (const [name, [make, ...values]] of Object.entries(METRICS)) {
  const rows = (KERAS.weights as Row[]).filter((row) => row[0] === name);
  testRowOnDevices(`${name} takes weights of the shapes that Keras takes`, async () => {
    using metric = make();
    const update = (...tensors: tf.Tensor[]): void => {
      const given = tensors.slice(0, values.length), [sampleWeight] = tensors.slice(values.length);
      (metric as tf.metrics.LabelMetric).updateState(
        ...[...given, { sampleWeight }] as unknown as [tf.Tensor, tf.Tensor],
      );
    };
    const steps = new Map<string, typeof update>();
    const stepOf = (way: string, tensors: tf.Tensor[]): typeof update => {
      const known = KNOWN[way];
      if (known === null) return update;
      const inputSignature = tensors.map((t) => new tf.TensorSpec(known(t.shape), "float32"));
      const key = inputSignature.join();
      if (!steps.has(key)) steps.set(key, tf.function(update, { inputSignature }));
      return steps.get(key)!;
    };
    for (const [, shapes, weights, wanted] of rows) {
      const batches = shapes.map((shape, b) => [
        ...values.map((of, k) => of(shape, b, k)),
        ...(weights ? [weightOf(weights[b], b)] : []),
      ]);
      for (const way of Object.keys(KNOWN)) {
        // What is refused is so by what is known of shapes.
        if (wanted === null && (way === "ranks" || way === "extents")) continue;
        if (way === "ranks" && OF_CLASSES.test(name)) continue;
        const about = `${name} of ${JSON.stringify([shapes, weights])}, ${way}`;
        metric.resetState();
        const run = (): void => batches.forEach((batch) => stepOf(way, batch)(...batch));
        if (wanted === null) {
          assertThrows(run, tf.ValueError, "sampleWeight has rank", about);
          continue;
        }
        run();
        const [found] = await metric.result().data() as Float32Array;
        assertAlmostEquals(found, wanted, 2e-5 * Math.max(1, Math.abs(wanted)), about);
      }
    }
  });
}

testOnDevices("rows of zeros and other predictions at the ends have Keras's entropy", async () => {
  for (const { metric: name, case: row, y, p, result } of KERAS.ends) {
    const make = metrics[name as "binaryCrossentropy"], wanted = Number(result);
    for (const compiled of [false, true]) {
      using metric = make();
      const update = (y: tf.Tensor, p: tf.Tensor): void => void metric.updateState(y, p);
      (compiled ? tf.function(update) : update)(tf.tensor(y as number[]), tf.tensor(p));
      const [found] = await metric.result().data() as Float32Array;
      const about = `${name} of ${row}, compiled ${compiled}`;
      if (Number.isNaN(wanted)) assertEquals(found, wanted, about);
      else assertAlmostEquals(found, wanted, 2e-5 * Math.max(1, wanted), about);
    }
  }
});
