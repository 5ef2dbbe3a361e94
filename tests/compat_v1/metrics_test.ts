/** Metrics over four batches: TensorFlow's numbers are in metrics.json. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import golden from "./metrics.json" with { type: "json" };

const v1 = tf.compat.v1, { metrics } = v1;
type Weights = { readonly weights?: tf.Tensor };
type Name = keyof NonNullable<(typeof golden.plain.rows)[number]["update"]>;
const THRESHOLDS = [0.25, 0.5, 0.9];

/** The arguments are those of python/metrics.py. */
function made(
  { labels, scores, classes }: Readonly<Record<string, tf.Tensor>>,
): Readonly<Record<Name, (weights: Weights) => tf.compat.v1.metrics.Metric>> {
  const hard = tf.round(scores), floats = tf.cast(labels, "float32");
  const least = tf.stack([scores, tf.sub(1, scores)], 1);
  const rows = tf.stack([floats, tf.sub(1, floats)], 1);
  const at = (fn: tf.compat.v1.metrics.ThresholdsCounter) => (w: Weights) =>
    fn(labels, scores, THRESHOLDS, w);
  return {
    mean: (w) => metrics.mean(scores, w),
    accuracy: (w) => metrics.accuracy(labels, hard, w),
    meanAbsoluteError: (w) => metrics.meanAbsoluteError(floats, scores, w),
    meanSquaredError: (w) => metrics.meanSquaredError(floats, scores, w),
    meanRelativeError: (w) =>
      metrics.meanRelativeError(floats, scores, tf.cast(classes, "float32"), w),
    rootMeanSquaredError: (w) => metrics.rootMeanSquaredError(floats, scores, w),
    meanCosineDistance: ({ weights }) =>
      metrics.meanCosineDistance(rows, least, 1, { weights: weights && tf.expandDims(weights, 1) }),
    percentageBelow: (w) => metrics.percentageBelow(scores, 0.5, w),
    meanPerClassAccuracy: (w) => metrics.meanPerClassAccuracy(classes, labels, 3, w),
    meanIou: (w) => metrics.meanIou(classes, labels, 3, w),
    truePositives: (w) => metrics.truePositives(labels, hard, w),
    falseNegatives: (w) => metrics.falseNegatives(labels, hard, w),
    trueNegatives: (w) => metrics.trueNegatives(labels, hard, w),
    falsePositives: (w) => metrics.falsePositives(labels, hard, w),
    precision: (w) => metrics.precision(labels, hard, w),
    recall: (w) => metrics.recall(labels, hard, w),
    truePositivesAtThresholds: at(metrics.truePositivesAtThresholds),
    falseNegativesAtThresholds: at(metrics.falseNegativesAtThresholds),
    trueNegativesAtThresholds: at(metrics.trueNegativesAtThresholds),
    falsePositivesAtThresholds: at(metrics.falsePositivesAtThresholds),
    precisionAtThresholds: at(metrics.precisionAtThresholds),
    recallAtThresholds: at(metrics.recallAtThresholds),
    auc: (w) => metrics.auc(labels, scores, w),
    aucPr: (w) =>
      metrics.auc(labels, scores, {
        ...w,
        numThresholds: 20,
        curve: "PR",
        summationMethod: "careful_interpolation",
      }),
    aucMinoring: (w) =>
      metrics.auc(labels, scores, { ...w, numThresholds: 20, summationMethod: "minoring" }),
    aucMajoring: (w) =>
      metrics.auc(labels, scores, {
        ...w,
        curve: "PR",
        summationMethod: "majoring",
        thresholds: [0.7, 0.3, 0.5],
      }),
  };
}

function assertNear(received: unknown, wanted: unknown, what: string): void {
  const flat = (v: unknown): number[] =>
    [v instanceof tf.NdArray ? v.toArray() : v].flat(3) as number[];
  const found = flat(received), list = flat(wanted);
  assertEquals(found.length, list.length, what);
  list.forEach((w, i) => {
    assert(Math.abs(found[i] - w) <= 2e-6 * Math.max(1, Math.abs(w)), `${what}: ${found}, ${list}`);
  });
}

/** Batches in a session, with metrics that are made of placeholders. */
function build(isWeighted: boolean) {
  const graph = new tf.Graph();
  return {
    graph,
    ...graph.asDefault(() => {
      const fed = Object.fromEntries(
        (["labels", "scores", "classes", "weights"] as const).map((key, i) => [
          key,
          tf.placeholder(i % 2 === 0 && key !== "weights" ? "int32" : "float32", [null], key),
        ]),
      );
      const weights = isWeighted ? { weights: fed.weights } : {};
      const pairs = Object.entries(made(fed)).map(([name, fn]) => [name, fn(weights)] as const);
      return {
        values: Object.fromEntries(pairs.map(([name, [value]]) => [name, value])),
        updates: Object.fromEntries(pairs.map(([name, [, update]]) => [name, update])),
        variables: v1.localVariables(),
        listed: v1.getCollection(v1.GraphKeys.METRIC_VARIABLES),
        global: v1.globalVariables(),
        init: v1.localVariablesInitializer(),
      };
    }),
  };
}

for (const kind of ["plain", "weighted"] as const) {
  testOnDevices(`metrics count batches as TensorFlow does: ${kind}`, async () => {
    const { rows, names, tensors } = golden[kind];
    const { graph, values, updates, variables, listed, global, init } = build(kind === "weighted");
    assertEquals(variables.map((v) => v.name), names);
    assertEquals(listed, variables);
    assertEquals(global, []);
    for (const name of ["accuracy", "precision"] as const) {
      assertEquals([values[name].name, updates[name].name], tensors[name]);
    }
    await using sess = new tf.Session({ graph });
    await sess.run(init);
    for (const [i, row] of rows.entries()) {
      if (i > 0) {
        const batch = golden.batches[i - 1];
        const feeds = Object.fromEntries(Object.entries(batch).map(([k, v]) => [`${k}:0`, v]));
        const found = await sess.run(updates, { feeds }) as Record<string, unknown>;
        for (const [name, wanted] of Object.entries(row.update!)) {
          assertNear(found[name], wanted, `update of ${name}, batch ${i}`);
        }
      }
      const found = await sess.run(values) as Record<string, unknown>;
      for (const [name, wanted] of Object.entries(row.value)) {
        assertNear(found[name], wanted, `${name} after ${i} batches`);
      }
    }
    await sess.run(init);
    assertNear((await sess.run(values.mean)) as unknown, 0, "begun again");
  });
}

testOnDevices("metrics are listed where they shall be, in scopes of their own", () => {
  new tf.Graph().asDefault(() => {
    const options = { metricsCollections: ["eval", "all"], updatesCollections: "updates" };
    const [value, update] = metrics.accuracy([1, 0], [1, 1], { ...options, name: "acc" });
    assertEquals(v1.getCollection("eval"), [value]);
    assertEquals(v1.getCollection("all"), [value]);
    assertEquals(v1.getCollection("updates"), [update]);
    assertEquals(v1.localVariables().map((v) => v.name), ["acc/total", "acc/count"]);
    metrics.precision([true], [true], options);
    assertEquals([v1.getCollection("eval").length, v1.getCollection("updates").length], [2, 2]);
    metrics.mean([1]);
    metrics.mean([1]);
    assertEquals(v1.localVariables().at(-1)!.name, "mean_1/count");
    assertEquals(v1.trainableVariables(), []);
  });
});

testOnDevices(
  "meanTensor() keeps a mean for each element, meanIou() the confusion matrix",
  async () => {
    const graph = new tf.Graph();
    const { fetches, init } = graph.asDefault(() => ({
      fetches: [
        metrics.meanTensor([[1, 2], [3, 4]], { weights: [[1, 0], [2, 1]] })[1],
        metrics.meanIou([[0, 1], [1, 1]], [[0, 1], [0, 1]], 2)[1],
      ],
      init: v1.localVariablesInitializer(),
    }));
    await using sess = new tf.Session({ graph });
    await sess.run(init);
    const [mean, matrix] = await sess.run(fetches) as tf.NdArray[];
    assertEquals(mean.toArray(), [[1, 0], [3, 4]]);
    assertEquals([matrix.dtype, matrix.toArray()], ["float64", [[1, 0], [1, 2]]]);
  },
);

testOnDevices("metrics refuse what they cannot count", async () => {
  assertThrows(() => metrics.mean([1]), tf.RuntimeError, "metrics.mean() is not supported");
  const graph = new tf.Graph();
  const { update, iou, mean, init } = graph.asDefault(() => {
    const { ValueError } = tf;
    assertThrows(() => metrics.accuracy([1, 2, 3], [1, 2]), ValueError, "are incompatible");
    assertThrows(
      () => metrics.mean([[1, 2]], { weights: [[1, 2, 3]] }),
      ValueError,
      "Weights can not be broadcast to values",
    );
    assertThrows(
      () => metrics.auc([1], [1], { curve: "F1" as never }),
      ValueError,
      "Curve must be",
    );
    assertThrows(
      () => metrics.auc([1], [1], { summationMethod: "left" as never }),
      ValueError,
      "Invalid summationMethod",
    );
    assertThrows(() => metrics.auc([1], [1], { numThresholds: 1 }), ValueError, "2 or more");
    assertThrows(() => metrics.mean([1], { weight: 1 } as never), TypeError, "weights");
    const scores = tf.placeholder("float32", [null], "scores");
    return {
      update: metrics.auc([1, 0], scores)[1],
      mean: metrics.mean([1])[0],
      iou: metrics.meanIou([0, 1], [0, 2], 2)[1],
      init: v1.localVariablesInitializer(),
    };
  });
  await using sess = new tf.Session({ graph });
  const { FailedPreconditionError, InvalidArgumentError } = tf.errors;
  await assertRejects(() => sess.run(mean) as Promise<unknown>, FailedPreconditionError);
  await sess.run(init);
  await assertRejects(
    () => sess.run(update, { feeds: { "scores:0": [0.5, 1.5] } }) as Promise<unknown>,
    InvalidArgumentError,
    "predictions must be in [0, 1]",
  );
  await assertRejects(() => sess.run(iou) as Promise<unknown>, InvalidArgumentError);
});
