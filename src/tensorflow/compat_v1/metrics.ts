/** Namespace `tf.compat.v1.metrics`: metrics over several batches, counted in local variables of the graph. */
import type { DType } from "../../engine/core/dtype.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { compatible, isConcrete, shapeTuple } from "../../engine/core/shape.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { onesLike } from "../../engine/ops/array/creation.ts";
import { diagPart } from "../../engine/ops/array/ranges.ts";
import { stack } from "../../engine/ops/array/join.ts";
import { scatterND } from "../../engine/ops/array/scatter.ts";
import { expandDims, reshape } from "../../engine/ops/array/view.ts";
import { add, div, mul, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { equal, greater, less, notEqual } from "../../engine/ops/pointwise/compare.ts";
import { sqrt, squaredDifference } from "../../engine/ops/pointwise/power.ts";
import { abs } from "../../engine/ops/pointwise/rounding.ts";
import { maximum, where } from "../../engine/ops/pointwise/select.ts";
import { mean as meanOf, sum } from "../../engine/ops/reduce/reduce.ts";
import {
  added,
  checkOptions,
  inMetricScope,
  listed,
  type Metric,
  type MetricOptions,
  metricVariable,
  paired,
  share,
  toTensor,
  valueAndUpdate,
  weightsOf,
} from "./metric_parts.ts";

export type { Metric, MetricOptions } from "./metric_parts.ts";
export * from "./metric_counts.ts";

/** Makes the mean of `fn` of labels and predictions. */
function meanOfPairs(
  metric: string,
  { labels, predictions, options }: {
    readonly labels: TensorLike;
    readonly predictions: TensorLike;
    readonly options: MetricOptions;
  },
  fn: (labels: Tensor, predictions: Tensor) => Tensor,
): Metric {
  checkOptions(options);
  return inMetricScope(metric, options, () => {
    const y = toTensor(labels, "labels", metric);
    const pair = paired(y, toTensor(predictions, "predictions", metric));
    return meanParts(fn(...pair), metric, options);
  });
}

function meanParts(values: Tensor, metric: string, { weights }: MetricOptions): Metric {
  const x = cast(values, "float32");
  const total = metricVariable([], "total"), count = metricVariable([], "count");
  const w = weights == null ? onesLike(x) : weightsOf(weights, x, metric);
  const updates = [added(total, sum(mul(x, w))), added(count, sum(w))];
  return valueAndUpdate([total, count], updates, share);
}

/**
 * The weighted mean of values over all batches. Returns the mean so far, 0 before the first batch, and an update that
 * counts a batch and returns the new mean. Follows TensorFlow `tf.compat.v1.metrics.mean`. Throws `RuntimeError` in
 * eager mode, `ValueError` for weights that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [mean, update, init] = graph.asDefault(() => {
 *   const x = tf.placeholder("float32", [null], "x");
 *   return [...v1.metrics.mean(x), v1.localVariablesInitializer()];
 * });
 * const sess = new tf.Session({ graph });
 * await sess.run(init);
 * for (const x of [[1, 2], [6]]) await sess.run(update, { feeds: { "x:0": x } });
 * console.log(await sess.run(mean)); // 3
 * ```
 */
export function mean(values: TensorLike, options: MetricOptions = {}): Metric {
  checkOptions(options);
  const compute = (): Metric => meanParts(toTensor(values, "values", "mean"), "mean", options);
  return inMetricScope("mean", options, compute);
}

/**
 * The share of predictions that equal their labels. Follows TensorFlow `tf.compat.v1.metrics.accuracy`. Throws as
 * {@linkcode mean}, and `ValueError` for shapes that differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [metric, update, init] = graph.asDefault(() => {
 *   const x = tf.placeholder("float32", [2], "x");
 *   return [...v1.metrics.accuracy(x, [1, 2]), v1.localVariablesInitializer()];
 * });
 * await using sess = new tf.Session({ graph });
 * await sess.run(init);
 * for (const x of [[1, 0], [1, 2]]) await sess.run(update, { feeds: { "x:0": x } });
 * console.log(await sess.run(metric)); // 0.75
 * ```
 */
export function accuracy(
  labels: TensorLike,
  predictions: TensorLike,
  options: MetricOptions = {},
): Metric {
  return meanOfPairs("accuracy", { labels, predictions, options }, (y, p) => {
    if (!compatible(y.staticShape, p.staticShape)) {
      throw new ValueError(
        `Shapes ${shapeTuple(p.staticShape)} and ${
          shapeTuple(y.staticShape)
        } are incompatible: metrics.accuracy() wants a prediction for each label`,
      );
    }
    return equal(cast(p, y.dtype), y);
  });
}

/**
 * The mean of absolute errors. Follows TensorFlow `tf.compat.v1.metrics.mean_absolute_error`. Throws as {@linkcode mean}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [metric, update, init] = graph.asDefault(() => {
 *   const x = tf.placeholder("float32", [2], "x");
 *   return [...v1.metrics.meanAbsoluteError(x, [1, 1]), v1.localVariablesInitializer()];
 * });
 * await using sess = new tf.Session({ graph });
 * await sess.run(init);
 * for (const x of [[1, 3], [2, 0]]) await sess.run(update, { feeds: { "x:0": x } });
 * console.log(await sess.run(metric)); // 1
 * ```
 */
export function meanAbsoluteError(
  labels: TensorLike,
  predictions: TensorLike,
  options: MetricOptions = {},
): Metric {
  const pair = { labels, predictions, options };
  return meanOfPairs("meanAbsoluteError", pair, (y, p) => abs(sub(p, y)));
}

/**
 * The mean of squared errors. Follows TensorFlow `tf.compat.v1.metrics.mean_squared_error`. Throws as {@linkcode mean}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [metric, update, init] = graph.asDefault(() => {
 *   const x = tf.placeholder("float32", [2], "x");
 *   return [...v1.metrics.meanSquaredError(x, [1, 1]), v1.localVariablesInitializer()];
 * });
 * await using sess = new tf.Session({ graph });
 * await sess.run(init);
 * for (const x of [[1, 3], [2, 0]]) await sess.run(update, { feeds: { "x:0": x } });
 * console.log(await sess.run(metric)); // 1.5
 * ```
 */
export function meanSquaredError(
  labels: TensorLike,
  predictions: TensorLike,
  options: MetricOptions = {},
): Metric {
  return meanOfPairs("meanSquaredError", { labels, predictions, options }, squaredDifference);
}

/**
 * The mean of absolute errors over `normalizer`, where that is not 0. Follows TensorFlow `tf.compat.v1.metrics.mean_relative_error`.
 * Throws as {@linkcode mean}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [metric, update, init] = graph.asDefault(() => {
 *   const x = tf.placeholder("float32", [2], "x");
 *   return [...v1.metrics.meanRelativeError(x, [1, 1], [2, 2]), v1.localVariablesInitializer()];
 * });
 * await using sess = new tf.Session({ graph });
 * await sess.run(init);
 * for (const x of [[1, 3], [2, 0]]) await sess.run(update, { feeds: { "x:0": x } });
 * console.log(await sess.run(metric)); // 0.5
 * ```
 */
export function meanRelativeError(
  labels: TensorLike,
  predictions: TensorLike,
  normalizer: TensorLike,
  options: MetricOptions = {},
): Metric {
  const pair = { labels, predictions, options };
  return meanOfPairs("meanRelativeError", pair, (y, p) => {
    const [by] = paired(toTensor(normalizer, "normalizer", "meanRelativeError"), p);
    return where(equal(by, 0), 0, div(abs(sub(y, p)), by));
  });
}

/**
 * The root of the mean of squared errors. Follows TensorFlow `tf.compat.v1.metrics.root_mean_squared_error`. Throws as {@linkcode mean}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [metric, update, init] = graph.asDefault(() => {
 *   const x = tf.placeholder("float32", [2], "x");
 *   return [...v1.metrics.rootMeanSquaredError(x, [1, 1]), v1.localVariablesInitializer()];
 * });
 * await using sess = new tf.Session({ graph });
 * await sess.run(init);
 * for (const x of [[3, 3], [3, 3]]) await sess.run(update, { feeds: { "x:0": x } });
 * console.log(await sess.run(metric)); // 2
 * ```
 */
export function rootMeanSquaredError(
  labels: TensorLike,
  predictions: TensorLike,
  options: MetricOptions = {},
): Metric {
  checkOptions(options);
  const { weights, name } = options;
  const inner = { weights, name: name ?? "root_mean_squared_error" };
  const [mse, update] = meanSquaredError(labels, predictions, inner);
  return listed([sqrt(mse), sqrt(update)], options);
}

/**
 * One minus the mean of products summed along an axis: the cosine distance of unit vectors. Follows TensorFlow
 * `tf.compat.v1.metrics.mean_cosine_distance`. Throws as {@linkcode mean}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [metric, update, init] = graph.asDefault(() => {
 *   const x = tf.placeholder("float32", [2], "x");
 *   return [...v1.metrics.meanCosineDistance(x, [1, 0], 0), v1.localVariablesInitializer()];
 * });
 * await using sess = new tf.Session({ graph });
 * await sess.run(init);
 * for (const x of [[1, 0], [0, 1]]) await sess.run(update, { feeds: { "x:0": x } });
 * console.log(await sess.run(metric)); // 0.5
 * ```
 */
export function meanCosineDistance(
  labels: TensorLike,
  predictions: TensorLike,
  dim: number,
  options: MetricOptions = {},
): Metric {
  checkOptions(options);
  const { weights, name } = options, pair = { labels, predictions, options: { weights, name } };
  const dot = (y: Tensor, p: Tensor): Tensor => sum(mul(p, y), [dim], true);
  const [near, update] = meanOfPairs("meanCosineDistance", pair, dot);
  return listed([sub(1, near), sub(1, update)], options);
}

/**
 * The share of values below a threshold. Follows TensorFlow `tf.compat.v1.metrics.percentage_below`. Throws as
 * {@linkcode mean}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [metric, update, init] = graph.asDefault(() => {
 *   const x = tf.placeholder("float32", [2], "x");
 *   return [...v1.metrics.percentageBelow(x, 2), v1.localVariablesInitializer()];
 * });
 * await using sess = new tf.Session({ graph });
 * await sess.run(init);
 * for (const x of [[1, 3], [1, 1]]) await sess.run(update, { feeds: { "x:0": x } });
 * console.log(await sess.run(metric)); // 0.75
 * ```
 */
export function percentageBelow(
  values: TensorLike,
  threshold: TensorLike,
  options: MetricOptions = {},
): Metric {
  checkOptions(options);
  const below = less(values, threshold);
  return mean(below, { ...options, name: options.name ?? "percentage_below_threshold" });
}

/** The mean of each element over all batches. Follows TensorFlow `tf.compat.v1.metrics.mean_tensor`. Throws as {@linkcode mean}, and
 * `ValueError` for values of unknown shape.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [metric, update, init] = graph.asDefault(() => {
 *   const x = tf.placeholder("float32", [2], "x");
 *   return [...v1.metrics.meanTensor(x), v1.localVariablesInitializer()];
 * });
 * await using sess = new tf.Session({ graph });
 * await sess.run(init);
 * for (const x of [[1, 3], [3, 5]]) await sess.run(update, { feeds: { "x:0": x } });
 * console.log((await sess.run(metric) as tf.NdArray).toArray()); // [2, 4]
 * ```
 */
export function meanTensor(values: TensorLike, options: MetricOptions = {}): Metric {
  checkOptions(options);
  return inMetricScope("mean", options, () => {
    const x = cast(toTensor(values, "values", "meanTensor"), "float32"), shape = x.staticShape;
    if (!isConcrete(shape)) {
      throw new ValueError(
        `Cannot count values of shape ${
          shapeTuple(shape)
        } in metrics.meanTensor(): wanted a known one`,
      );
    }
    const total = metricVariable(shape, "total_tensor");
    const count = metricVariable(shape, "count_tensor");
    const w = options.weights == null ? onesLike(x) : weightsOf(options.weights, x, "meanTensor");
    const updates = [added(total, mul(x, w)), added(count, w)];
    return valueAndUpdate([total, count], updates, share);
  });
}

/** Makes a metric of labels and predictions that name one of several classes, flattened, and of their weights. */
function ofClasses(
  metric: string,
  { labels, predictions, options, scope, dtype }: {
    readonly labels: TensorLike;
    readonly predictions: TensorLike;
    readonly options: MetricOptions;
    /** TensorFlow's name of the scope. */
    readonly scope: string;
    /** Dtype of the weights. */
    readonly dtype: DType;
  },
  fn: (labels: Tensor, predictions: Tensor, weights: Tensor) => Metric,
): Metric {
  checkOptions(options);
  return inMetricScope(scope, options, () => {
    const flat = (x: TensorLike, arg: string): Tensor => reshape(toTensor(x, arg, metric), [-1]);
    const y = cast(flat(labels, "labels"), "int32");
    const p = cast(flat(predictions, "predictions"), "int32");
    const ones = onesLike(cast(y, dtype)), { weights } = options;
    if (weights == null) return fn(y, p, ones);
    const w = cast(toTensor(weights, "weights", metric), dtype);
    return fn(y, p, mul(w.staticShape?.length === 0 ? w : reshape(w, [-1]), ones));
  });
}

/**
 * The mean over classes of the share of the class's labels that were predicted; the update returns it for each class.
 * Follows TensorFlow `tf.compat.v1.metrics.mean_per_class_accuracy`. Throws as {@linkcode mean}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [metric, update, init] = graph.asDefault(() => {
 *   const x = tf.placeholder("int32", [2], "x");
 *   return [...v1.metrics.meanPerClassAccuracy(x, [0, 1], 2), v1.localVariablesInitializer()];
 * });
 * await using sess = new tf.Session({ graph });
 * await sess.run(init);
 * for (const x of [[0, 1], [1, 1]]) await sess.run(update, { feeds: { "x:0": x } });
 * console.log((await sess.run(metric) as number).toFixed(3)); // 0.833
 * ```
 */
export function meanPerClassAccuracy(
  labels: TensorLike,
  predictions: TensorLike,
  numClasses: number,
  options: MetricOptions = {},
): Metric {
  const given = { labels, predictions, options, scope: "meanAccuracy", dtype: "float32" } as const;
  return ofClasses("meanPerClassAccuracy", given, (y, p, w) => {
    const total = metricVariable([numClasses], "total");
    const count = metricVariable([numClasses], "count");
    const perClass = (values: Tensor): Tensor => scatterND(expandDims(y, 1), values, [numClasses]);
    const correct = added(count, perClass(mul(cast(equal(p, y), "float32"), w)));
    const all = added(total, perClass(w));
    return [meanOf(share(count.readValue(), total.readValue())), share(correct, all)];
  });
}

/**
 * The mean over classes of intersection over union of labels and predictions. The update returns the confusion matrix,
 * float64. Follows TensorFlow `tf.compat.v1.metrics.mean_iou`. Throws as {@linkcode mean}; `InvalidArgumentError` at
 * run time for unknown classes.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [metric, update, init] = graph.asDefault(() => {
 *   const x = tf.placeholder("int32", [2], "x");
 *   return [...v1.metrics.meanIou(x, [0, 1], 2), v1.localVariablesInitializer()];
 * });
 * await using sess = new tf.Session({ graph });
 * await sess.run(init);
 * for (const x of [[0, 1], [1, 1]]) await sess.run(update, { feeds: { "x:0": x } });
 * console.log((await sess.run(metric) as number).toFixed(3)); // 0.583
 * ```
 */
export function meanIou(
  labels: TensorLike,
  predictions: TensorLike,
  numClasses: number,
  options: MetricOptions = {},
): Metric {
  const given = { labels, predictions, options, scope: "meanIou", dtype: "float64" } as const;
  return ofClasses("meanIou", given, (y, p, w) => {
    const shape = [numClasses, numClasses];
    const matrix = metricVariable(shape, "total_confusion_matrix", "float64");
    const update = added(matrix, scatterND(stack([y, p], 1), w, shape));
    return [meanOverlap(matrix.readValue()), update];
  });
}

function meanOverlap(matrix: Tensor): Tensor {
  const both = cast(diagPart(matrix), "float32");
  const rows = cast(sum(matrix, 0), "float32"), columns = cast(sum(matrix, 1), "float32");
  const either = sub(add(rows, columns), both);
  const classes = sum(cast(notEqual(either, 0), "float32"));
  const overlap = div(both, where(greater(either, 0), either, 1));
  return where(greater(classes, 0), div(sum(overlap), maximum(classes, 1)), 0);
}
