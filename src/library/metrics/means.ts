/** Metrics that are means of a value of each sample. */

import { optionCheck, wantNumber } from "../../engine/core/arguments.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { compatible, shapeText } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { oneHot } from "../../engine/ops/array/ranges.ts";
import { squeeze } from "../../engine/ops/array/view.ts";
import { add, div, divNoNan, mul, neg, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { equal, greater, isFinite, less } from "../../engine/ops/pointwise/compare.ts";
import { exp, log } from "../../engine/ops/pointwise/exponential.ts";
import { logicalAnd } from "../../engine/ops/pointwise/logical.ts";
import { sqrt, square } from "../../engine/ops/pointwise/power.ts";
import { abs } from "../../engine/ops/pointwise/rounding.ts";
import { clipByValue, maximum, where } from "../../engine/ops/pointwise/select.ts";
import { argMax } from "../../engine/ops/reduce/arg_reduce.ts";
import { all, mean as meanOf, sum as sumOf } from "../../engine/ops/reduce/reduce.ts";
import { logSumExp } from "../../engine/ops/reduce/reduce_derived.ts";
import {
  LabelMetric,
  type MetricRule,
  type MetricState,
  ValueMetric,
  wantSameShape,
} from "./metric.ts";
import { elementSums, sampleSums } from "./sample_sums.ts";

/** Keras's least probability. */
const EPSILON = 1e-7;

function meanRule(finish: (mean: Tensor) => Tensor = (x) => x): MetricRule {
  return {
    state: { total: [], count: [] },
    result: ({ total, count }) => finish(divNoNan(total, count)),
  };
}

/** A mean over samples of a function of labels and predictions. */
function meanMetric(
  name: string,
  valueOf: (yTrue: Tensor, yPred: Tensor) => Tensor,
  finish?: (mean: Tensor) => Tensor,
  sums: typeof sampleSums = sampleSums,
): LabelMetric {
  return new LabelMetric(
    name,
    meanRule(finish),
    (yTrue, yPred, weight): MetricState => sums(valueOf(yTrue, yPred), weight),
  );
}

/** The same of labels and predictions of one shape. */
function meanOfSame(
  name: string,
  valueOf: (yTrue: Tensor, yPred: Tensor) => Tensor,
  finish?: (mean: Tensor) => Tensor,
): LabelMetric {
  return meanMetric(name, (yTrue, yPred) => {
    wantSameShape(name, yTrue, yPred);
    return valueOf(yTrue, yPred);
  }, finish);
}

/** Mean over the last axis, where it is not that of samples; where the rank is unknown, {@linkcode sampleSums} takes it. */
function overLast(x: Tensor): Tensor {
  return x.staticShape === null || x.rank < 2 ? x : meanOf(x, -1);
}

/**
 * Mean of values. Follows Keras's `Mean`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using loss = tf.metrics.mean();
 * loss.updateState([1, 2]);
 * loss.updateState(9, { sampleWeight: 2 });
 * console.log(loss.result().item()); // 5.25
 * loss.resetState();
 * console.log(loss.result().item()); // 0
 * ```
 */
export function mean(): ValueMetric {
  return new ValueMetric("mean", meanRule(), sampleSums);
}

/**
 * Sum of values. Follows Keras's `Sum`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using sum = tf.metrics.sum();
 * sum.updateState([1, 2]);
 * sum.updateState(3);
 * console.log(sum.result().item()); // 6
 * ```
 */
export function sum(): ValueMetric {
  return new ValueMetric(
    "sum",
    { state: { total: [] }, result: ({ total }) => add(total, 0) },
    (values, weight) => ({ total: elementSums(values, weight).total }),
  );
}

/**
 * Part of predictions that equal their labels. Follows Keras's `Accuracy`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using accuracy = tf.metrics.accuracy();
 * accuracy.updateState([1, 2, 3, 4], [1, 2, 0, 4]);
 * console.log(accuracy.result().item()); // 0.75
 * ```
 */
export function accuracy(): LabelMetric {
  return meanOfSame("accuracy", (y, p) => cast(equal(y, p), "float32"));
}

/**
 * Part of predictions on the label's side of a threshold. Follows Keras's `BinaryAccuracy`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using metric = tf.metrics.binaryAccuracy();
 * metric.updateState([1, 0, 1, 0], [0.9, 0.2, 0.4, 0.1]);
 * console.log(metric.result().item()); // 0.75
 * ```
 */
export function binaryAccuracy(threshold = 0.5): LabelMetric {
  wantNumber(threshold, "threshold", "binaryAccuracy");
  return meanOfSame(
    "binaryAccuracy",
    (y, p) => cast(equal(y, cast(greater(p, threshold), "float32")), "float32"),
  );
}

/**
 * Part of samples whose greatest prediction is that of the greatest label. Follows Keras's `CategoricalAccuracy`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using metric = tf.metrics.categoricalAccuracy();
 * metric.updateState([[0, 1], [1, 0]], [[0.2, 0.8], [0.4, 0.6]]);
 * console.log(metric.result().item()); // 0.5
 * ```
 */
export function categoricalAccuracy(): LabelMetric {
  return meanOfSame(
    "categoricalAccuracy",
    (y, p) => cast(equal(argMax(y, -1), argMax(p, -1)), "float32"),
  );
}

/** Labels of classes without a last axis of 1 that the predictions do not have. Throws `ValueError` where the predictions have no axis more. */
function classesOf(name: string, y: Tensor, p: Tensor): Tensor {
  const a = y.staticShape, b = p.staticShape;
  const labels = a && a.length === b?.length && a.at(-1) === 1 ? squeeze(y, [-1]) : y;
  if (a && b && !compatible(labels.staticShape, b.slice(0, -1))) {
    throw new ValueError(
      `Cannot update metric '${name}': yTrue, the numbers of classes, has shape ${
        shapeText(a)
      }, yPred ${shapeText(b)}, wanted the same with one axis more in yPred`,
    );
  }
  return labels;
}

/**
 * Part of samples whose greatest prediction is that of the label, a number of a class. Follows Keras's `SparseCategoricalAccuracy`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using metric = tf.metrics.sparseCategoricalAccuracy();
 * metric.updateState([1, 0], [[0.2, 0.8], [0.4, 0.6]]);
 * console.log(metric.result().item()); // 0.5
 * ```
 */
export function sparseCategoricalAccuracy(): LabelMetric {
  return meanMetric(
    "sparseCategoricalAccuracy",
    (y, p) => {
      const labels = classesOf("sparseCategoricalAccuracy", y, p);
      return cast(equal(cast(labels, "int32"), cast(argMax(p, -1), "int32")), "float32");
    },
  );
}

/** Sum along the last axis of what stands where one-hot labels are 1; other values, infinite ones too, add nothing. */
function ownOf(labels: Tensor, x: Tensor, keepDims = false): Tensor {
  return sumOf(where(greater(labels, 0), x, 0), -1, keepDims);
}

/** 1 where fewer than `k` classes have a greater prediction than the label's, 0 for predictions that are not all finite and for no label. */
function amongTop(labels: Tensor, p: Tensor, k: number): Tensor {
  const above = sumOf(cast(greater(p, ownOf(labels, p, true)), "float32"), -1);
  const known = logicalAnd(all(isFinite(p), -1), greater(sumOf(labels, -1), 0));
  return cast(logicalAnd(less(above, k), known), "float32");
}

function checkCount(k: number, fn: string): void {
  wantNumber(k, "k", fn);
  if (!Number.isInteger(k) || k < 1) {
    throw new ValueError(`Cannot make ${fn}(): k must be a whole number above 0, received ${k}`);
  }
}

/** Depth of one-hot labels. */
function depthOf(p: Tensor, name: string): number {
  const depth = p.staticShape?.at(-1);
  if (typeof depth === "number") return depth;
  throw new ValueError(`Cannot update metric '${name}': the number of classes must be known`);
}

/**
 * Part of samples whose label is among the `k` greatest predictions. Follows Keras's `TopKCategoricalAccuracy`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using metric = tf.metrics.topKCategoricalAccuracy(2);
 * metric.updateState([[1, 0, 0], [0, 0, 1]], [[0.3, 0.2, 0.5], [0.4, 0.5, 0.1]]);
 * console.log(metric.result().item()); // 0.5
 * ```
 */
export function topKCategoricalAccuracy(k = 5): LabelMetric {
  checkCount(k, "topKCategoricalAccuracy");
  const name = "topKCategoricalAccuracy";
  return meanOfSame(
    name,
    (y, p) => amongTop(oneHot(cast(argMax(y, -1), "int32"), depthOf(p, name)), p, k),
  );
}

/**
 * Part of samples whose label, a number of a class, is among the `k` greatest predictions. Follows Keras's `SparseTopKCategoricalAccuracy`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using metric = tf.metrics.sparseTopKCategoricalAccuracy(2);
 * metric.updateState([0, 2], [[0.3, 0.2, 0.5], [0.4, 0.5, 0.1]]);
 * console.log(metric.result().item()); // 0.5
 * ```
 */
export function sparseTopKCategoricalAccuracy(k = 5): LabelMetric {
  checkCount(k, "sparseTopKCategoricalAccuracy");
  const name = "sparseTopKCategoricalAccuracy";
  return meanMetric(
    name,
    (y, p) => amongTop(oneHot(cast(classesOf(name, y, p), "int32"), depthOf(p, name)), p, k),
  );
}

/**
 * Mean of squared distances. Follows Keras's `MeanSquaredError`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using metric = tf.metrics.meanSquaredError();
 * metric.updateState([1, 2], [1, 4]);
 * console.log(metric.result().item()); // 2
 * ```
 */
export function meanSquaredError(): LabelMetric {
  return meanOfSame("meanSquaredError", (y, p) => overLast(square(sub(p, y))));
}

/**
 * Root of the mean of squared distances. Follows Keras's `RootMeanSquaredError`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using metric = tf.metrics.rootMeanSquaredError();
 * metric.updateState([0, 0], [2, 2]);
 * console.log(metric.result().item()); // 2
 * ```
 */
export function rootMeanSquaredError(): LabelMetric {
  return meanOfSame("rootMeanSquaredError", (y, p) => square(sub(p, y)), sqrt);
}

/**
 * Mean of distances. Follows Keras's `MeanAbsoluteError`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using metric = tf.metrics.meanAbsoluteError();
 * metric.updateState([1, 2], [1, 4]);
 * console.log(metric.result().item()); // 1
 * ```
 */
export function meanAbsoluteError(): LabelMetric {
  return meanOfSame("meanAbsoluteError", (y, p) => overLast(abs(sub(p, y))));
}

/**
 * Mean of distances in parts of 100 of the labels. Follows Keras's `MeanAbsolutePercentageError`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using metric = tf.metrics.meanAbsolutePercentageError();
 * metric.updateState([2, 4], [1, 4]);
 * console.log(metric.result().item()); // 25
 * ```
 */
export function meanAbsolutePercentageError(): LabelMetric {
  return meanOfSame(
    "meanAbsolutePercentageError",
    (y, p) => mul(overLast(abs(divNoNan(sub(y, p), maximum(abs(y), EPSILON)))), 100),
  );
}

/**
 * Mean cosine between labels and predictions along the last axis. Follows Keras's `CosineSimilarity`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using metric = tf.metrics.cosineSimilarity();
 * metric.updateState([[1, 0], [0, 1]], [[2, 0], [3, 0]]);
 * console.log(metric.result().item()); // 0.5
 * ```
 */
export function cosineSimilarity(): LabelMetric {
  const unit = (x: Tensor): Tensor =>
    mul(x, divNoNan(1, sqrt(maximum(sumOf(square(x), -1, true), EPSILON ** 2))));
  return meanOfSame("cosineSimilarity", (y, p) => sumOf(mul(unit(y), unit(p)), -1));
}

/** Options of cross entropies. */
export interface CrossentropyOptions {
  /** True where predictions are logits, not probabilities. Default false. */
  readonly fromLogits?: boolean;
}

/** Options of {@linkcode binaryCrossentropy} and {@linkcode categoricalCrossentropy}. */
export interface SmoothedCrossentropyOptions extends CrossentropyOptions {
  /** Part of each label, from 0 to 1, that is shared among the classes. Default 0. */
  readonly labelSmoothing?: number;
}

function smoothedOptions(fn: string, options: SmoothedCrossentropyOptions): [boolean, number] {
  optionCheck<SmoothedCrossentropyOptions>(fn, { fromLogits: true, labelSmoothing: true })(options);
  const { fromLogits = false, labelSmoothing = 0 } = options;
  wantNumber(labelSmoothing, "labelSmoothing", fn);
  return [fromLogits, labelSmoothing];
}

/** Labels, a part of each shared among the classes. */
const smooth = (y: Tensor, part: number, classes: number): Tensor =>
  part === 0 ? y : add(mul(y, 1 - part), part / classes);

function logitsOption(fn: string, options: CrossentropyOptions, otherwise = false): boolean {
  optionCheck<CrossentropyOptions>(fn, { fromLogits: true })(options);
  return options.fromLogits ?? otherwise;
}

/**
 * Mean cross entropy of probabilities and labels of 0 or 1. Follows Keras's `BinaryCrossentropy`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using metric = tf.metrics.binaryCrossentropy();
 * metric.updateState([1, 0], [0.5, 0.5]);
 * console.log(metric.result().item().toFixed(4)); // 0.6931
 * ```
 */
export function binaryCrossentropy(options: SmoothedCrossentropyOptions = {}): LabelMetric {
  const [fromLogits, part] = smoothedOptions("binaryCrossentropy", options);
  return meanOfSame("binaryCrossentropy", (labels, p) => {
    const y = smooth(labels, part, 2);
    if (fromLogits) {
      const soft = log(add(exp(neg(abs(p))), 1));
      return overLast(add(sub(maximum(p, 0), mul(p, y)), soft));
    }
    const q = clipByValue(p, EPSILON, 1 - EPSILON);
    return overLast(neg(add(mul(y, log(q)), mul(sub(1, y), log(sub(1, q))))));
  });
}

/** Logarithms of probabilities along the last axis. */
function logOf(p: Tensor, fromLogits: boolean): Tensor {
  if (fromLogits) return sub(p, logSumExp(p, -1, true));
  return log(clipByValue(div(p, sumOf(p, -1, true)), EPSILON, 1 - EPSILON));
}

/**
 * Mean cross entropy of probabilities of classes and labels of one-hot vectors. Follows Keras's `CategoricalCrossentropy`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using metric = tf.metrics.categoricalCrossentropy({ fromLogits: true });
 * metric.updateState([[0, 1]], [[1, 1]]);
 * console.log(metric.result().item().toFixed(4)); // 0.6931
 * ```
 */
export function categoricalCrossentropy(options: SmoothedCrossentropyOptions = {}): LabelMetric {
  const name = "categoricalCrossentropy", [fromLogits, part] = smoothedOptions(name, options);
  return meanOfSame(name, (labels, p) => {
    const y = part === 0 ? labels : smooth(labels, part, depthOf(p, name));
    return neg(sumOf(mul(y, logOf(p, fromLogits)), -1));
  });
}

function sparseEntropy(
  name: string,
  fromLogits: boolean,
  finish?: (mean: Tensor) => Tensor,
  sums?: typeof sampleSums,
): LabelMetric {
  return meanMetric(
    name,
    (y, p) => {
      const labels = oneHot(cast(classesOf(name, y, p), "int32"), depthOf(p, name));
      // Probabilities are clipped before they are divided by their sum, as Keras does it here.
      const scores = fromLogits ? p : log(clipByValue(p, EPSILON, 1 - EPSILON));
      return neg(ownOf(labels, logOf(scores, true)));
    },
    finish,
    sums,
  );
}

/**
 * Mean cross entropy of probabilities of classes and labels that are their numbers. Follows Keras's `SparseCategoricalCrossentropy`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using metric = tf.metrics.sparseCategoricalCrossentropy();
 * metric.updateState([1], [[0.5, 0.5]]);
 * console.log(metric.result().item().toFixed(4)); // 0.6931
 * ```
 */
export function sparseCategoricalCrossentropy(options: CrossentropyOptions = {}): LabelMetric {
  const name = "sparseCategoricalCrossentropy";
  return sparseEntropy(name, logitsOption(name, options));
}

/**
 * Perplexity of a language model: `exp` of the mean cross entropy, of logits unless `fromLogits: false` says otherwise. A
 * `sampleWeight` of 0 leaves a token out. Follows KerasHub's `Perplexity`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using perplexity = tf.metrics.perplexity();
 * perplexity.updateState([[0, 3]], tf.zeros([1, 2, 4]));
 * console.log(Math.round(perplexity.result().item() * 1000)); // 4000
 * ```
 */
export function perplexity(options: CrossentropyOptions = {}): LabelMetric {
  return sparseEntropy("perplexity", logitsOption("perplexity", options, true), exp, elementSums);
}
