/** Losses: distances of predictions from labels, weighted and reduced, in `tf.losses`. */
import { wantNumber } from "../../core/arguments.ts";
import { compose, type OpInput } from "../../core/apply.ts";
import { mergeShapes, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import { cast } from "../array/cast.ts";
import { onesOfTensor } from "../array/fill_ops.ts";
import { asTensor, castInput, shapeOfInput, toFloatInput, toInput } from "../input.ts";
import { add, div, divNoNan, mul, neg, sub } from "../pointwise/arithmetic.ts";
import { notEqual } from "../pointwise/compare.ts";
import { xlogy } from "../pointwise/exponential.ts";
import { square, squaredDifference } from "../pointwise/power.ts";
import { relu } from "../pointwise/activation.ts";
import { abs } from "../pointwise/rounding.ts";
import { minimum } from "../pointwise/select.ts";
import { softplus } from "../pointwise/sigmoid.ts";
import { mean, sum } from "../reduce/reduce.ts";
import { softmaxCrossEntropyWithLogits } from "./softmax.ts";
import { brief } from "../../core/text.ts";

/** Reduction of a tensor of losses to the result. */
export enum Reduction {
  /** No reduction. */
  NONE = 0,
  /** The sum over the sum of the weights. */
  MEAN = 1,
  /** The sum. */
  SUM = 2,
  /** The sum over the number of weights that are not 0. */
  SUM_BY_NONZERO_WEIGHTS = 3,
}

/** Converts both operands to float tensors of one dtype. */
function operands(
  labels: TensorLike,
  predictions: TensorLike,
  fn: string,
  names: readonly [string, string] = ["labels", "predictions"],
): [Tensor, Tensor] {
  const y: OpInput = toFloatInput(labels, names[0], fn);
  const p: OpInput = toFloatInput(predictions, names[1], fn);
  const a = shapeOfInput(y), b = shapeOfInput(p);
  try {
    mergeShapes(a, b);
  } catch {
    throw new ValueError(
      `Error in ${fn}: Shapes ${shapeText(a)} of ${names[0]} and ${shapeText(b)} of ${
        names[1]
      } must match`,
    );
  }
  return [asTensor(castInput(y, p.dtype)), asTensor(p)];
}

/** Weights are converted first: messages name them. */
function weighted(
  losses: Tensor,
  weights: TensorLike | null | undefined,
  reduction: Reduction,
  fn: string,
): Tensor {
  const w = weights === null || weights === undefined
    ? null
    : asTensor(castInput(toInput(weights, "weights", fn), losses.dtype));
  const weightedLosses = w === null ? losses : mul(losses, w);
  switch (reduction) {
    case Reduction.NONE:
      return weightedLosses;
    case Reduction.SUM:
      return sum(weightedLosses);
    case Reduction.MEAN:
      if (w === null) return mean(losses);
      return div(sum(weightedLosses), sum(mul(w, onesOfTensor(losses))));
    case Reduction.SUM_BY_NONZERO_WEIGHTS: {
      if (w === null) return mean(losses);
      const present = notEqual(mul(w, onesOfTensor(losses)), 0);
      return divNoNan(sum(weightedLosses), sum(cast(present, losses.dtype)));
    }
  }
  throw new ValueError(`Unknown reduction: ${brief(reduction)}`);
}

/** Moves labels towards a half, or towards equal odds of `classes`. */
function smooth(labels: Tensor, smoothing: number, even: number): Tensor {
  return smoothing > 0 ? add(mul(labels, 1 - smoothing), even * smoothing) : labels;
}

/**
 * Losses times weights, reduced. Weights broadcast to the losses. Throws `ValueError` for shapes that do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.losses.computeWeightedLoss([1, 2, 3], [1, 0, 1]).item()); // 2
 * ```
 */
export function computeWeightedLoss(
  losses: TensorLike,
  weights?: TensorLike | null,
  reduction: Reduction = Reduction.SUM_BY_NONZERO_WEIGHTS,
): Tensor {
  return compose(() => {
    const l = asTensor(toFloatInput(losses, "losses", "computeWeightedLoss"));
    return weighted(l, weights, reduction, "computeWeightedLoss");
  });
}

/**
 * `|labels - predictions|`, weighted and reduced. Throws `ValueError` where the shapes differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.losses.absoluteDifference([1, 2], [2, 4]).item()); // 1.5
 * ```
 */
export function absoluteDifference(
  labels: TensorLike,
  predictions: TensorLike,
  weights?: TensorLike | null,
  reduction: Reduction = Reduction.SUM_BY_NONZERO_WEIGHTS,
): Tensor {
  return compose(() => {
    const [y, p] = operands(labels, predictions, "absoluteDifference");
    return weighted(abs(sub(y, p)), weights, reduction, "absoluteDifference");
  });
}

/**
 * One minus the dot product along an axis: the cosine distance of vectors of length 1. Throws `ValueError` where the shapes differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.losses.cosineDistance([[1, 0]], [[0, 1]], 1).item()); // 1
 * ```
 */
export function cosineDistance(
  labels: TensorLike,
  predictions: TensorLike,
  axis: number,
  weights?: TensorLike | null,
  reduction: Reduction = Reduction.SUM_BY_NONZERO_WEIGHTS,
): Tensor {
  return compose(() => {
    const [y, p] = operands(labels, predictions, "cosineDistance");
    return weighted(sub(1, sum(mul(y, p), axis, true)), weights, reduction, "cosineDistance");
  });
}

/**
 * `max(0, 1 - labels * predictions)` with labels 0 and 1 read as -1 and 1. Throws `ValueError` where the shapes differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.losses.hingeLoss([1, 0], [0.5, -2]).item()); // 0.25
 * ```
 */
export function hingeLoss(
  labels: TensorLike,
  predictions: TensorLike,
  weights?: TensorLike | null,
  reduction: Reduction = Reduction.SUM_BY_NONZERO_WEIGHTS,
): Tensor {
  return compose(() => {
    const [y, p] = operands(labels, predictions, "hingeLoss");
    const sides = sub(mul(y, 2), 1);
    return weighted(relu(sub(1, mul(sides, p))), weights, reduction, "hingeLoss");
  });
}

/**
 * Half the squared error up to `delta`, linear beyond. Throws `ValueError` where the shapes differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.losses.huberLoss([0, 0], [1, 3]).item()); // 1.5
 * ```
 */
export function huberLoss(
  labels: TensorLike,
  predictions: TensorLike,
  weights?: TensorLike | null,
  delta = 1,
  reduction: Reduction = Reduction.SUM_BY_NONZERO_WEIGHTS,
): Tensor {
  return compose(() => {
    const [y, p] = operands(labels, predictions, "huberLoss");
    const error = abs(sub(p, y));
    const near = minimum(error, delta);
    const losses = add(mul(square(near), 0.5), mul(sub(error, near), delta));
    return weighted(losses, weights, reduction, "huberLoss");
  });
}

/**
 * Cross entropy of probabilities: `-labels * log(predictions) - (1 - labels) * log(1 - predictions)`, with `epsilon` inside the
 * logarithms. Throws `ValueError` where the shapes differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.losses.logLoss([1], [1], null, 0).item()); // -0
 * ```
 */
export function logLoss(
  labels: TensorLike,
  predictions: TensorLike,
  weights?: TensorLike | null,
  epsilon = 1e-7,
  reduction: Reduction = Reduction.SUM_BY_NONZERO_WEIGHTS,
): Tensor {
  return compose(() => {
    const [y, p] = operands(labels, predictions, "logLoss");
    const hit = xlogy(y, add(p, epsilon));
    const miss = xlogy(sub(1, y), add(sub(1, p), epsilon));
    return weighted(neg(add(hit, miss)), weights, reduction, "logLoss");
  });
}

/**
 * `(labels - predictions) ** 2`, weighted and reduced. Throws `ValueError` where the shapes differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.losses.meanSquaredError([1, 2], [2, 4]).item()); // 2.5
 * ```
 */
export function meanSquaredError(
  labels: TensorLike,
  predictions: TensorLike,
  weights?: TensorLike | null,
  reduction: Reduction = Reduction.SUM_BY_NONZERO_WEIGHTS,
): Tensor {
  return compose(() => {
    const [y, p] = operands(labels, predictions, "meanSquaredError");
    return weighted(squaredDifference(y, p), weights, reduction, "meanSquaredError");
  });
}

/**
 * Cross entropy of independent labels and the sigmoid of logits, without overflow. Throws `ValueError` where the shapes differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.losses.sigmoidCrossEntropy([1], [1000]).item()); // 0
 * ```
 */
export function sigmoidCrossEntropy(
  multiClassLabels: TensorLike,
  logits: TensorLike,
  weights?: TensorLike | null,
  labelSmoothing = 0,
  reduction: Reduction = Reduction.SUM_BY_NONZERO_WEIGHTS,
): Tensor {
  return compose(() => {
    const fn = "sigmoidCrossEntropy";
    wantNumber(labelSmoothing, "labelSmoothing", fn);
    const [y, x] = operands(multiClassLabels, logits, fn, ["multiClassLabels", "logits"]);
    const losses = sub(softplus(x), mul(x, smooth(y, labelSmoothing, 0.5)));
    return weighted(losses, weights, reduction, fn);
  });
}

/**
 * Cross entropy of one-hot labels and the softmax of logits along the last axis. TensorFlow op `SoftmaxCrossEntropyWithLogits`.
 * Throws `ValueError` where the shapes differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.losses.softmaxCrossEntropy([[0, 1]], [[0, 1000]]).item()); // 0
 * ```
 */
export function softmaxCrossEntropy(
  onehotLabels: TensorLike,
  logits: TensorLike,
  weights?: TensorLike | null,
  labelSmoothing = 0,
  reduction: Reduction = Reduction.SUM_BY_NONZERO_WEIGHTS,
): Tensor {
  return compose(() => {
    const fn = "softmaxCrossEntropy";
    wantNumber(labelSmoothing, "labelSmoothing", fn);
    const [y, x] = operands(onehotLabels, logits, fn, ["onehotLabels", "logits"]);
    const classes = labelSmoothing > 0 ? lastDimension(y, fn) : 1;
    const labels = smooth(y, labelSmoothing, 1 / classes);
    return weighted(softmaxCrossEntropyWithLogits({ labels, logits: x }), weights, reduction, fn);
  });
}

function lastDimension(labels: Tensor, fn: string): number {
  const n = labels.staticShape?.at(-1);
  if (typeof n !== "number") {
    throw new ValueError(`Cannot smooth labels in ${fn}: the number of classes is unknown`);
  }
  return n;
}
