/**
 * Namespace `tf.compat.v1.metrics`: metrics over several batches, counted in local variables of the graph.
 */
import { optionCheck } from "../core/options.ts";
import { ValueError } from "../core/errors.ts";
import { compatible, isConcrete, shapeTuple } from "../core/shape.ts";
import type { Tensor, TensorLike } from "../core/tensor.ts";
import { cast } from "../ops/array/cast.ts";
import { onesLike } from "../ops/array/creation.ts";
import { diagPart } from "../ops/array/numbering.ts";
import { stack } from "../ops/array/join.ts";
import { scatterND } from "../ops/array/scatter.ts";
import { expandDims, reshape } from "../ops/array/view.ts";
import { add, div, mul, sub } from "../ops/pointwise/arithmetic.ts";
import { equal, greater, less, notEqual } from "../ops/pointwise/compare.ts";
import { sqrt, squaredDifference } from "../ops/pointwise/power.ts";
import { abs } from "../ops/pointwise/rounding.ts";
import { maximum, where } from "../ops/pointwise/select.ts";
import { mean as meanOf, sum } from "../ops/reduce/reduce.ts";
import {
  added,
  inMetricScope,
  listed,
  type Metric,
  METRIC_OPTIONS,
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

const checkOptions = optionCheck<MetricOptions>("metrics", METRIC_OPTIONS);

/** The mean of what `fn` makes of labels and predictions. */
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
  return inMetricScope(metric, options.name, () => {
    const pair = paired(
      toTensor(labels, "labels", metric),
      toTensor(predictions, "predictions", metric),
    );
    return listed(meanParts(fn(...pair), metric, options), options);
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
 * The mean of values over all batches, weighted. Gives the mean so far, 0 before the first batch, and an update that counts a batch and
 * gives the mean then. Follows TensorFlow `tf.compat.v1.metrics.mean`. Throws `RuntimeError` in eager mode, `ValueError` for weights that
 * do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [mean, update, init] = graph.asDefault(() => {
 *   const x = tf.placeholder("float32", [null], "x");
 *   return [...v1.metrics.mean(x), v1.localVariablesInitializer()];
 * });
 * const sess = new tf.Session({ graph });
 * await sess.run(init);
 * for (const x of [[1, 2], [6]]) await sess.run(update, { feeds: { "x:0": x } });
 * assertEquals(await sess.run(mean), 3);
 * ```
 */
export function mean(values: TensorLike, options: MetricOptions = {}): Metric {
  checkOptions(options);
  return inMetricScope(
    "mean",
    options.name,
    () => listed(meanParts(toTensor(values, "values", "mean"), "mean", options), options),
  );
}

/**
 * How often predictions are the labels. Follows TensorFlow `tf.compat.v1.metrics.accuracy`. Throws as {@linkcode mean}, and `ValueError`
 * for shapes that differ.
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

/** The mean of absolute errors. Follows TensorFlow `tf.compat.v1.metrics.mean_absolute_error`. Throws as {@linkcode mean}. */
export function meanAbsoluteError(
  labels: TensorLike,
  predictions: TensorLike,
  options: MetricOptions = {},
): Metric {
  const pair = { labels, predictions, options };
  return meanOfPairs("meanAbsoluteError", pair, (y, p) => abs(sub(p, y)));
}

/** The mean of squared errors. Follows TensorFlow `tf.compat.v1.metrics.mean_squared_error`. Throws as {@linkcode mean}. */
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

/** The root of the mean of squared errors. Follows TensorFlow `tf.compat.v1.metrics.root_mean_squared_error`. Throws as {@linkcode mean}. */
export function rootMeanSquaredError(
  labels: TensorLike,
  predictions: TensorLike,
  options: MetricOptions = {},
): Metric {
  const { weights, name } = options;
  const inner = { weights, name: name ?? "root_mean_squared_error" };
  const [mse, update] = meanSquaredError(labels, predictions, inner);
  checkOptions(options);
  return listed([sqrt(mse), sqrt(update)], options);
}

/**
 * One less the mean of products summed along an axis: the cosine distance of unit vectors. Follows TensorFlow
 * `tf.compat.v1.metrics.mean_cosine_distance`. Throws as {@linkcode mean}.
 */
export function meanCosineDistance(
  labels: TensorLike,
  predictions: TensorLike,
  dim: number,
  options: MetricOptions = {},
): Metric {
  checkOptions(options);
  const { weights, name } = options, pair = { labels, predictions, options: { weights, name } };
  const [near, update] = meanOfPairs(
    "meanCosineDistance",
    pair,
    (y, p) => sum(mul(p, y), [dim], true),
  );
  return listed([sub(1, near), sub(1, update)], options);
}

/** How often values are below a threshold. Follows TensorFlow `tf.compat.v1.metrics.percentage_below`. Throws as {@linkcode mean}. */
export function percentageBelow(
  values: TensorLike,
  threshold: TensorLike,
  options: MetricOptions = {},
): Metric {
  const below = less(values, threshold);
  return mean(below, { ...options, name: options.name ?? "percentage_below_threshold" });
}

/** The mean of each element over all batches. Follows TensorFlow `tf.compat.v1.metrics.mean_tensor`. Throws as {@linkcode mean}, and
 * `ValueError` for values of unknown shape. */
export function meanTensor(values: TensorLike, options: MetricOptions = {}): Metric {
  checkOptions(options);
  return inMetricScope("mean", options.name, () => {
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
    return listed(valueAndUpdate([total, count], updates, share), options);
  });
}

const flat = (x: TensorLike, arg: string, metric: string): Tensor =>
  reshape(toTensor(x, arg, metric), [-1]);

/** Weights of labels that were flattened. */
function flatWeights(weights: TensorLike | null | undefined, like: Tensor, metric: string): Tensor {
  if (weights == null) return onesLike(like);
  const w = cast(toTensor(weights, "weights", metric), like.dtype);
  return mul(w.staticShape?.length === 0 ? w : reshape(w, [-1]), onesLike(like));
}

/**
 * The mean over classes of how often a label of the class was predicted; the update gives it for each class. Follows TensorFlow
 * `tf.compat.v1.metrics.mean_per_class_accuracy`. Throws as {@linkcode mean}.
 */
export function meanPerClassAccuracy(
  labels: TensorLike,
  predictions: TensorLike,
  numClasses: number,
  options: MetricOptions = {},
): Metric {
  checkOptions(options);
  const metric = "meanPerClassAccuracy";
  return inMetricScope("meanAccuracy", options.name, () => {
    const y = cast(flat(labels, "labels", metric), "int32");
    const p = cast(flat(predictions, "predictions", metric), "int32");
    const total = metricVariable([numClasses], "total");
    const count = metricVariable([numClasses], "count");
    const w = flatWeights(options.weights, onesLike(cast(y, "float32")), metric);
    const perClass = (values: Tensor): Tensor => scatterND(expandDims(y, 1), values, [numClasses]);
    const correct = added(count, perClass(mul(cast(equal(p, y), "float32"), w)));
    const all = added(total, perClass(w));
    const value = meanOf(share(count.readValue(), total.readValue()));
    return listed([value, share(correct, all)], options);
  });
}

/**
 * The mean over classes of the share that labels and predictions have in common of all that either has. The update gives the confusion
 * matrix, float64. Follows TensorFlow `tf.compat.v1.metrics.mean_iou`. Throws as {@linkcode mean}; `InvalidArgumentError` when it runs for
 * classes that are not there.
 */
export function meanIou(
  labels: TensorLike,
  predictions: TensorLike,
  numClasses: number,
  options: MetricOptions = {},
): Metric {
  checkOptions(options);
  return inMetricScope("meanIou", options.name, () => {
    const y = cast(flat(labels, "labels", "meanIou"), "int32");
    const p = cast(flat(predictions, "predictions", "meanIou"), "int32");
    const shape = [numClasses, numClasses];
    const matrix = metricVariable(shape, "total_confusion_matrix", "float64");
    const w = flatWeights(options.weights, onesLike(cast(y, "float64")), "meanIou");
    const update = added(matrix, scatterND(stack([y, p], 1), w, shape));
    return listed([meanOverlap(matrix.readValue()), update], options);
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
