/**
 * Metrics that count true and false answers, part of `tf.compat.v1.metrics`: at one threshold or several, precision, recall, AUC.
 */
import { ValueError } from "../../engine/core/errors.ts";
import { optionCheck } from "../../engine/core/arguments.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import { Assert } from "../../engine/graph/assert.ts";
import { currentGraph } from "../../engine/graph/current_graph.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { identity, reshape } from "../../engine/ops/array/view.ts";
import { slice } from "../../engine/ops/array/slice.ts";
import { add, div, divNoNan, mul, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { equal, greater, greaterEqual, lessEqual } from "../../engine/ops/pointwise/compare.ts";
import { log } from "../../engine/ops/pointwise/exponential.ts";
import { logicalAnd } from "../../engine/ops/pointwise/logical.ts";
import { maximum, minimum, where } from "../../engine/ops/pointwise/select.ts";
import { all, sum } from "../../engine/ops/reduce/reduce.ts";
import {
  added,
  checkOptions,
  inMetricScope,
  type Metric,
  METRIC_OPTIONS,
  type MetricOptions,
  metricVariable,
  paired,
  tensorFlowName,
  toTensor,
  valueAndUpdate,
  weightsOf,
} from "./metric_parts.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";

/** Signs of label and prediction for each count. */
const COUNTS = {
  truePositives: [true, true],
  falseNegatives: [true, false],
  trueNegatives: [false, false],
  falsePositives: [false, true],
} as const;
type Count = keyof typeof COUNTS;

/** A function that counts answers of one kind. */
export type Counter = (
  labels: TensorLike,
  predictions: TensorLike,
  options?: MetricOptions,
) => Metric;

function counter(what: Count): Counter {
  const [label, prediction] = COUNTS[what];
  return (labels, predictions, options = {}) => {
    checkOptions(options);
    return inMetricScope(what, options, () => {
      const [y, p] = paired(
        cast(toTensor(labels, "labels", what), "bool"),
        cast(toTensor(predictions, "predictions", what), "bool"),
      );
      const hits = cast(logicalAnd(equal(y, label), equal(p, prediction)), "float32");
      const { weights } = options;
      const counted = weights == null ? hits : mul(hits, weightsOf(weights, hits, what));
      const count = metricVariable([], "count");
      return [count.readValue(), added(count, sum(counted))];
    });
  };
}

/** The number of true positives, weighted. Follows TensorFlow `tf.compat.v1.metrics.true_positives`. Throws `RuntimeError` in eager mode. */
export const truePositives: Counter = counter("truePositives");
/** The number of false negatives, weighted. Follows TensorFlow `tf.compat.v1.metrics.false_negatives`. */
export const falseNegatives: Counter = counter("falseNegatives");
/** The number of true negatives, weighted. Follows TensorFlow `tf.compat.v1.metrics.true_negatives`. */
export const trueNegatives: Counter = counter("trueNegatives");
/** The number of false positives, weighted. Follows TensorFlow `tf.compat.v1.metrics.false_positives`. */
export const falsePositives: Counter = counter("falsePositives");

/** Returns the share of `part` in both counts, 0 without any. */
function shareOfCounts(part: Tensor, other: Tensor): Tensor {
  const both = add(part, other);
  return where(greater(both, 0), div(part, both), 0);
}

function ratioOfCounts(metric: string, other: Counter): Counter {
  return (labels, predictions, options = {}) => {
    checkOptions(options);
    return inMetricScope(metric, options, () => {
      const { weights } = options;
      const [part, partUpdate] = truePositives(labels, predictions, { weights });
      const [rest, restUpdate] = other(labels, predictions, { weights });
      return valueAndUpdate([part, rest], [partUpdate, restUpdate], shareOfCounts);
    });
  };
}

/**
 * The share of positive predictions that are right, 0 without any. Follows TensorFlow `tf.compat.v1.metrics.precision`. Throws
 * `RuntimeError` in eager mode, `ValueError` for weights that do not broadcast.
 */
export const precision: Counter = ratioOfCounts("precision", falsePositives);
/**
 * The share of positive labels that were predicted, 0 without any. Follows TensorFlow `tf.compat.v1.metrics.recall`. Throws as
 * {@linkcode precision}.
 */
export const recall: Counter = ratioOfCounts("recall", falseNegatives);

/** The variables of some counts, one element for each threshold, and their values after an update. */
interface CountsAtThresholds {
  readonly variables: readonly Variable[];
  readonly updates: readonly Tensor[];
}

/** Returns predictions after a check at run time that they lie in [0, 1]. */
function checkedShares(predictions: Tensor): Tensor {
  const within = logicalAnd(greaterEqual(predictions, 0), lessEqual(predictions, 1));
  const check = Assert(all(within), ["predictions must be in [0, 1]", predictions]);
  return currentGraph()!.controlDependencies([check!], () => identity(predictions));
}

function countsAt(
  thresholds: readonly number[],
  counts: readonly Count[],
  { labels, predictions, weights, metric }: {
    readonly labels: TensorLike;
    readonly predictions: TensorLike;
    readonly weights: TensorLike | null | undefined;
    readonly metric: string;
  },
): CountsAtThresholds {
  const shares = checkedShares(toTensor(predictions, "predictions", metric));
  const [y, p] = paired(
    cast(toTensor(labels, "labels", metric), "bool"),
    cast(shares, "float32"),
  );
  const row = (x: Tensor): Tensor => reshape(x, [1, -1]);
  const w = weights == null ? null : row(weightsOf(weights, p, metric));
  const over = greater(row(p), thresholds.map((t) => [t])), truth = row(y);
  const variables: Variable[] = [], updates: Tensor[] = [];
  for (const count of counts) {
    const [label, prediction] = COUNTS[count];
    const v = metricVariable([thresholds.length], tensorFlowName(count));
    const hits = cast(logicalAnd(equal(truth, label), equal(over, prediction)), "float32");
    variables.push(v);
    updates.push(added(v, sum(w === null ? hits : mul(hits, w), 1)));
  }
  return { variables, updates };
}

/** A function that counts at several thresholds. */
export type ThresholdsCounter = (
  labels: TensorLike,
  predictions: TensorLike,
  thresholds: readonly number[],
  options?: MetricOptions,
) => Metric;

function atThresholds(
  metric: string,
  counts: readonly Count[],
  fn: (...x: Tensor[]) => Tensor,
): ThresholdsCounter {
  return (labels, predictions, thresholds, options = {}) => {
    checkOptions(options);
    return inMetricScope(metric, options, () => {
      const given = { labels, predictions, weights: options.weights, metric };
      const { variables, updates } = countsAt(thresholds, counts, given);
      return valueAndUpdate(variables, updates, fn);
    });
  };
}

const countAt = (what: Count): ThresholdsCounter => atThresholds(what, [what], (count) => count);
const shareAt = (part: Tensor, other: Tensor): Tensor => div(part, add(add(part, other), 1e-7));

/** True positives at each threshold. Follows TensorFlow `tf.compat.v1.metrics.true_positives_at_thresholds`. */
export const truePositivesAtThresholds: ThresholdsCounter = countAt("truePositives");
/** False negatives at each threshold. Follows TensorFlow `tf.compat.v1.metrics.false_negatives_at_thresholds`. */
export const falseNegativesAtThresholds: ThresholdsCounter = countAt("falseNegatives");
/** True negatives at each threshold. Follows TensorFlow `tf.compat.v1.metrics.true_negatives_at_thresholds`. */
export const trueNegativesAtThresholds: ThresholdsCounter = countAt("trueNegatives");
/** False positives at each threshold. Follows TensorFlow `tf.compat.v1.metrics.false_positives_at_thresholds`. */
export const falsePositivesAtThresholds: ThresholdsCounter = countAt("falsePositives");
/** Precision at each threshold. Follows TensorFlow `tf.compat.v1.metrics.precision_at_thresholds`. */
export const precisionAtThresholds: ThresholdsCounter = atThresholds(
  "precisionAtThresholds",
  ["truePositives", "falsePositives"],
  shareAt,
);
/** Recall at each threshold. Follows TensorFlow `tf.compat.v1.metrics.recall_at_thresholds`. */
export const recallAtThresholds: ThresholdsCounter = atThresholds(
  "recallAtThresholds",
  ["truePositives", "falseNegatives"],
  shareAt,
);

/** Options of {@linkcode auc}. */
export interface AucOptions extends MetricOptions {
  /** Number of evenly spaced thresholds. Default 200. */
  readonly numThresholds?: number | undefined;
  /** Thresholds to use besides those at both ends. */
  readonly thresholds?: readonly number[] | null | undefined;
  /** `"ROC"`, the default, or `"PR"`, precision over recall. */
  readonly curve?: "ROC" | "PR" | undefined;
  /** Method of summing the area. Default `"trapezoidal"`. */
  readonly summationMethod?:
    | "trapezoidal"
    | "careful_interpolation"
    | "minoring"
    | "majoring"
    | undefined;
}

const checkAuc = optionCheck<AucOptions>("metrics.auc", {
  ...METRIC_OPTIONS,
  numThresholds: true,
  thresholds: true,
  curve: true,
  summationMethod: true,
});

const METHODS = ["trapezoidal", "careful_interpolation", "minoring", "majoring"];

/** Returns all elements but the last, and all but the first. */
function neighbours(x: Tensor): [Tensor, Tensor] {
  const n = x.shape[0];
  return [slice(x, [0], [n - 1]), slice(x, [1], [n - 1])];
}

/**
 * Implements J. Davis and M. Goadrich, "The relationship between precision-recall and ROC curves" (2006): precision is
 * not linear between thresholds.
 */
function carefulPrecisionArea(tp: Tensor, fn: Tensor, fp: Tensor): Tensor {
  const [tp0, tp1] = neighbours(tp), [p0, p1] = neighbours(add(tp, fp));
  const step = sub(tp0, tp1), slope = divNoNan(step, maximum(sub(p0, p1), 0));
  const start = sub(tp1, mul(slope, p1));
  const ratio = where(logicalAnd(greater(p0, 0), greater(p1, 0)), divNoNan(p0, maximum(p1, 0)), 1);
  const area = mul(slope, add(step, mul(start, log(ratio))));
  return sum(divNoNan(area, maximum(add(tp1, neighbours(fn)[1]), 0)));
}

const EPSILON = 1e-6;

function area(
  [tp, fn, tn, fp]: readonly Tensor[],
  curve: string,
  method: string,
): Tensor {
  if (curve === "PR" && method === "careful_interpolation") return carefulPrecisionArea(tp, fn, fp);
  const above = add(tp, EPSILON), recalled = div(above, add(add(tp, fn), EPSILON));
  const isRoc = curve === "ROC";
  const x = isRoc ? div(fp, add(add(fp, tn), EPSILON)) : recalled;
  const y = isRoc ? recalled : div(above, add(add(tp, fp), EPSILON));
  const [x0, x1] = neighbours(x), [y0, y1] = neighbours(y);
  const height = method === "minoring"
    ? minimum(y0, y1)
    : method === "majoring"
    ? maximum(y0, y1)
    : div(add(y0, y1), 2);
  return sum(mul(sub(x0, x1), height));
}

/**
 * The area under the curve of the receiver's operating characteristic, or of precision over recall, at thresholds.
 * Predictions must lie in [0, 1], which is checked at run time. Follows TensorFlow `tf.compat.v1.metrics.auc`. Throws
 * `RuntimeError` in eager mode, `ValueError` for another curve or method.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const v1 = tf.compat.v1, graph = new tf.Graph();
 * const [update, init] = graph.asDefault(() => {
 *   const [, update] = v1.metrics.auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]);
 *   return [update, v1.localVariablesInitializer()];
 * });
 * const sess = new tf.Session({ graph });
 * await sess.run(init);
 * console.log((await sess.run(update) as number).toFixed(4)); // 0.7500
 * ```
 */
export function auc(
  labels: TensorLike,
  predictions: TensorLike,
  options: AucOptions = {},
): Metric {
  checkAuc(options);
  const { numThresholds = 200, curve = "ROC", summationMethod = "trapezoidal" } = options;
  if (curve !== "ROC" && curve !== "PR") {
    throw new ValueError(`Curve must be either ROC or PR. Curve ${curve} is unknown`);
  }
  if (!METHODS.includes(summationMethod)) {
    throw new ValueError(
      `Invalid summationMethod: ${summationMethod}. It should be one of ${METHODS.join(", ")}`,
    );
  }
  if (!Number.isInteger(numThresholds) || numThresholds < 2) {
    throw new ValueError(
      `Cannot count at ${numThresholds} thresholds: metrics.auc() wants 2 or more`,
    );
  }
  const inner = options.thresholds?.toSorted((a, b) => a - b) ??
    Array.from({ length: numThresholds - 2 }, (_, i) => (i + 1) / (numThresholds - 1));
  return inMetricScope("auc", options, () => {
    const { variables, updates } = countsAt(
      // The ends lie outside of the range of predictions.
      [-1e-7, ...inner, 1 + 1e-7],
      ["truePositives", "falseNegatives", "trueNegatives", "falsePositives"],
      { labels, predictions, weights: options.weights, metric: "auc" },
    );
    const fn = (...x: Tensor[]): Tensor => area(x, curve, summationMethod);
    return valueAndUpdate(variables, updates, fn);
  });
}
