/** Metrics of counts: true and false positives and negatives, and confusion of classes. */
import { optionCheck, wantNumber, wantObject } from "../../engine/core/arguments.ts";
import { ValueError } from "../../engine/core/errors.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { onesLike } from "../../engine/ops/array/creation.ts";
import { reverse } from "../../engine/ops/array/move.ts";
import { diagPart } from "../../engine/ops/array/ranges.ts";
import { unsortedSegmentSum } from "../../engine/ops/array/segment.ts";
import { slice } from "../../engine/ops/array/slice.ts";
import { expandDims, reshape } from "../../engine/ops/array/view.ts";
import { add, div, divNoNan, mul, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { equal, greater, greaterEqual, less } from "../../engine/ops/pointwise/compare.ts";
import { log } from "../../engine/ops/pointwise/exponential.ts";
import { logicalAnd } from "../../engine/ops/pointwise/logical.ts";
import { ceil } from "../../engine/ops/pointwise/rounding.ts";
import { abs } from "../../engine/ops/pointwise/rounding.ts";
import { clipByValue, maximum, where } from "../../engine/ops/pointwise/select.ts";
import { max, mean, sum } from "../../engine/ops/reduce/reduce.ts";
import { cumsum } from "../../engine/ops/reduce/scan.ts";
import { LabelMetric, type MetricState, wantSameShape } from "./metric.ts";

/** Weights of all elements of `x`, which may be those of its first axes; ones where there are none. */
function weightsLike(x: Tensor, weight: Tensor | null): Tensor {
  const ones = onesLike(x);
  if (weight === null) return ones;
  let w = weight;
  while (w.rank < x.rank) w = expandDims(w, -1);
  return mul(ones, w);
}

/** 1 where a label is true, else 0. */
function truth(y: Tensor): Tensor {
  return cast(greater(y, 0), "float32");
}

/** Options of {@linkcode precision} and {@linkcode recall}. */
export interface ThresholdOptions {
  /** A prediction above it is positive. A list gives a result for each. Default 0.5. */
  readonly thresholds?: number | readonly number[];
}

function thresholdsOf(fn: string, options: ThresholdOptions): { list: number[]; shape: number[] } {
  optionCheck<ThresholdOptions>(fn, { thresholds: true })(options);
  const { thresholds = 0.5 } = options;
  const list = typeof thresholds === "number" ? [thresholds] : [...thresholds];
  list.forEach((t, i) => wantNumber(t, `thresholds[${i}]`, fn));
  return { list, shape: typeof thresholds === "number" ? [] : [list.length] };
}

/** Sums, for each threshold, of the weights of true positives, and of `others`: of labels or of predictions that are positive. */
function ratioMetric(
  name: string,
  options: ThresholdOptions,
  others: "labels" | "predictions",
): LabelMetric {
  const { list, shape } = thresholdsOf(name, options);
  return new LabelMetric(name, {
    state: { truePositives: [list.length], all: [list.length] },
    result: ({ truePositives, all }) => reshape(divNoNan(truePositives, all), shape),
  }, (y, p, weight): MetricState => {
    wantSameShape(name, y, p);
    const flat = (x: Tensor): Tensor => reshape(x, [1, -1]);
    const w = flat(weightsLike(p, weight)), t = flat(truth(y));
    const positive = cast(greater(flat(p), list.map((v) => [v])), "float32");
    const ones = onesLike(positive);
    const all = others === "labels" ? mul(t, ones) : positive;
    return {
      truePositives: sum(mul(mul(positive, t), w), 1),
      all: sum(mul(all, w), 1),
    };
  });
}

/**
 * Part of predictions above a threshold whose label is true. Follows Keras's `Precision`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using precision = tf.metrics.precision({ thresholds: [0.25, 0.5] });
 * precision.updateState([0, 1, 1, 1], [0.3, 0.6, 0.4, 0.1]);
 * console.log(precision.result().mul(3).arraySync()); // [2, 3]
 * ```
 */
export function precision(options: ThresholdOptions = {}): LabelMetric {
  return ratioMetric("precision", options, "predictions");
}

/**
 * Part of true labels whose prediction is above a threshold. Follows Keras's `Recall`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using metric = tf.metrics.recall();
 * metric.updateState([1, 1, 0, 0], [0.9, 0.2, 0.8, 0.1]);
 * console.log(metric.result().item()); // 0.5
 * ```
 */
export function recall(options: ThresholdOptions = {}): LabelMetric {
  return ratioMetric("recall", options, "labels");
}

/** Options of {@linkcode auc}. */
export interface AucOptions {
  /** Number of thresholds between 0 and 1. Default 200. */
  readonly numThresholds?: number;
  /** Curve of true positives over false ones (`"ROC"`), or of precision over recall (`"PR"`). Default `"ROC"`. */
  readonly curve?: "ROC" | "PR";
}

const checkAuc = optionCheck<AucOptions>("auc", { numThresholds: true, curve: true });

/**
 * Area under a curve, of predictions from 0 to 1 beside evenly spread thresholds. Follows Keras's `AUC` with
 * `summation_method="interpolation"`. Throws `ValueError` for fewer than 2 thresholds and other curves.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using auc = tf.metrics.auc({ numThresholds: 3 });
 * auc.updateState([0, 0, 1, 1], [0, 0.5, 0.3, 0.9]);
 * console.log(auc.result().item()); // 0.75
 * ```
 */
export function auc(options: AucOptions = {}): LabelMetric {
  checkAuc(options);
  const { numThresholds: n = 200, curve = "ROC" } = options;
  if (!Number.isInteger(n) || n < 2) {
    throw new ValueError(`Cannot make auc(): numThresholds must be 2 or more, received ${n}`);
  }
  if (curve !== "ROC" && curve !== "PR") {
    throw new ValueError(`Cannot make auc(): curve must be "ROC" or "PR", received ${curve}`);
  }
  return new LabelMetric("auc", {
    state: { positives: [n], negatives: [n] },
    result: ({ positives, negatives }) =>
      areaUnder(curve, { tp: above(positives), fp: above(negatives), n }),
  }, (y, p, weight): MetricState => {
    wantSameShape("auc", y, p);
    const flat = (x: Tensor): Tensor => reshape(x, [-1]);
    const w = flat(weightsLike(p, weight)), t = flat(truth(y));
    // A prediction counts for all thresholds up to that of its bucket.
    const place = sub(ceil(mul(clipByValue(flat(p), 0, 1), n - 1)), 1);
    const bucket = cast(maximum(place, 0), "int32");
    return {
      positives: unsortedSegmentSum(mul(t, w), bucket, n),
      negatives: unsortedSegmentSum(mul(sub(1, t), w), bucket, n),
    };
  });
}

/** Sums from each place to the end. */
function above(buckets: Tensor): Tensor {
  return reverse(cumsum(reverse(buckets, 0), 0), 0);
}

interface Curve {
  /** Weights of true positives at each threshold. */
  readonly tp: Tensor;
  readonly fp: Tensor;
  readonly n: number;
}

function areaUnder(curve: "ROC" | "PR", { tp, fp, n }: Curve): Tensor {
  const first = (x: Tensor): Tensor => slice(x, [0], [n - 1]);
  const last = (x: Tensor): Tensor => slice(x, [1], [n - 1]);
  const fall = (x: Tensor): Tensor => sub(first(x), last(x));
  const all = slice(tp, [0], [1]);
  if (curve === "ROC") {
    const y = divNoNan(tp, all), x = divNoNan(fp, slice(fp, [0], [1]));
    return sum(mul(fall(x), div(add(first(y), last(y)), 2)));
  }
  const p = add(tp, fp), slope = divNoNan(fall(tp), maximum(fall(p), 0));
  const intercept = sub(last(tp), mul(slope, last(p)));
  const both = logicalAnd(greater(first(p), 0), greater(last(p), 0));
  const ratio = where(both, divNoNan(first(p), maximum(last(p), 0)), 1);
  const areas = mul(slope, add(fall(tp), mul(intercept, log(ratio))));
  return sum(divNoNan(areas, maximum(all, 0)));
}

/** Options of {@linkcode f1Score}. */
export interface F1Options {
  /** Number of classes, the last axis of labels and predictions. */
  readonly numClasses: number;
  /** Mean over classes: of their scores, of all counts, or by their weights. Default null: a score for each. */
  readonly average?: "micro" | "macro" | "weighted" | null;
  /** A prediction above it is positive. Default null: the greatest of a sample is. */
  readonly threshold?: number | null;
}

const checkF1 = optionCheck<F1Options>("f1Score", {
  numClasses: true,
  average: true,
  threshold: true,
});

/**
 * Harmonic mean of precision and recall of each class, of labels that are one-hot or of many classes. Follows Keras's `F1Score`. Throws
 * `ValueError` for another average.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using f1 = tf.metrics.f1Score({ numClasses: 2 });
 * f1.updateState([[1, 0], [0, 1], [0, 1]], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]);
 * console.log(f1.result().mul(3).arraySync()); // [2, 2]
 * ```
 */
export function f1Score(options: F1Options): LabelMetric {
  wantObject(options, "options", "f1Score", "an object with numClasses");
  checkF1(options);
  const { numClasses, average = null, threshold = null } = options;
  wantClasses(numClasses, "f1Score");
  if (average !== null && !["micro", "macro", "weighted"].includes(average)) {
    throw new ValueError(
      `Cannot make f1Score(): average must be null, "micro", "macro" or "weighted", received ${average}`,
    );
  }
  const shape = [numClasses];
  return new LabelMetric("f1Score", {
    state: { tp: shape, fp: shape, fn: shape, weights: shape },
    result: ({ tp, fp, fn, weights }) => {
      const counts = [tp, fp, fn].map((x) => average === "micro" ? sum(x) : x);
      const twice = mul(counts[0], 2);
      const scores = divNoNan(twice, add(twice, add(counts[1], counts[2])));
      if (average === "macro") return mean(scores);
      return average === "weighted" ? sum(mul(scores, divNoNan(weights, sum(weights)))) : scores;
    },
  }, (y, p, weight): MetricState => {
    wantSameShape("f1Score", y, p);
    const positive = threshold === null
      ? logicalAnd(greaterEqual(p, max(p, -1, true)), greater(abs(p), 1e-9))
      : greater(p, threshold);
    const q = cast(positive, "float32"), w = weightsLike(p, weight);
    const total = (x: Tensor): Tensor => sum(reshape(mul(x, w), [-1, numClasses]), 0);
    return {
      tp: total(mul(y, q)),
      fp: total(mul(sub(1, y), q)),
      fn: total(mul(y, sub(1, q))),
      weights: total(y),
    };
  });
}

function wantClasses(numClasses: number, fn: string): void {
  wantNumber(numClasses, "numClasses", fn);
  if (Number.isInteger(numClasses) && numClasses > 0) return;
  throw new ValueError(
    `Cannot make ${fn}(): numClasses must be a whole number above 0, received ${numClasses}`,
  );
}

/** Adds weights of pairs of a label and a prediction, both numbers of classes. */
function confusion(
  name: string,
  numClasses: number,
  result: (matrix: Tensor) => Tensor,
): LabelMetric {
  wantClasses(numClasses, name);
  return new LabelMetric(name, {
    state: { matrix: [numClasses, numClasses] },
    result: ({ matrix }) => result(matrix),
  }, (y, p, weight): MetricState => {
    wantSameShape(name, y, p);
    const flat = (x: Tensor): Tensor => cast(reshape(x, [-1]), "int32");
    const rows = flat(y), columns = flat(p), w = reshape(weightsLike(p, weight), [-1]);
    const inRange = (x: Tensor): Tensor => logicalAnd(greaterEqual(x, 0), less(x, numClasses));
    const valid = logicalAnd(inRange(rows), inRange(columns));
    const places = where(valid, add(mul(rows, numClasses), columns), -1);
    const sums = unsortedSegmentSum(w, places, numClasses ** 2);
    return { matrix: reshape(sums, [numClasses, numClasses]) };
  });
}

/**
 * Weights of each pair of a label (rows) and a prediction (columns), numbers of classes; those out of range are left out.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using confusion = tf.metrics.confusionMatrix(2);
 * confusion.updateState([0, 1, 1], [0, 0, 1]);
 * confusion.updateState([1], [1]);
 * console.log(confusion.result().arraySync()); // [[1, 0], [1, 2]]
 * ```
 */
export function confusionMatrix(numClasses: number): LabelMetric {
  return confusion("confusionMatrix", numClasses, (matrix) => add(matrix, 0));
}

/**
 * Mean over classes of what labels and predictions share, over what either has. Follows Keras's `MeanIoU`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using metric = tf.metrics.meanIoU(2);
 * metric.updateState([0, 0, 1, 1], [0, 1, 1, 1]);
 * console.log(metric.result().item().toFixed(4)); // 0.5833
 * ```
 */
export function meanIoU(numClasses: number): LabelMetric {
  return confusion("meanIoU", numClasses, (matrix) => {
    const shared = diagPart(matrix), either = sub(add(sum(matrix, 0), sum(matrix, 1)), shared);
    const seen = sum(cast(equal(equal(either, 0), false), "float32"));
    return divNoNan(sum(divNoNan(shared, either)), seen);
  });
}
