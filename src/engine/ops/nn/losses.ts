/** Losses of the namespace `tf.nn`, one number for each element. */
import { argumentsCheck, optionCheck } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { zerosLike } from "../array/creation.ts";
import { asTensor, castInput, toFloatInput } from "../input.ts";
import { add, mul, neg, sub } from "../pointwise/arithmetic.ts";
import { greaterEqual, lessEqual } from "../pointwise/compare.ts";
import { exp, log, xlogy } from "../pointwise/exponential.ts";
import { logicalAnd } from "../pointwise/logical.ts";
import { square } from "../pointwise/power.ts";
import { where } from "../pointwise/select.ts";
import { softplus } from "../pointwise/sigmoid.ts";
import { sum } from "../reduce/reduce.ts";
import { sameFloats } from "./same_floats.ts";

/**
 * Half the sum of the squares of all elements, a scalar. Integers become float32. Throws `TypeError` for values that are no numbers.
 * Follows TensorFlow `tf.nn.l2_loss`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.l2Loss([3, 4]).item()); // 12.5
 * ```
 */
export function l2Loss(t: TensorLike): Tensor {
  return compose(() => mul(sum(square(asTensor(toFloatInput(t, "t", "l2Loss")))), 0.5));
}

/** Arguments of {@linkcode weightedCrossEntropyWithLogits}. */
export interface WeightedCrossEntropyArgs {
  /** Probabilities of the class, of the shape of the logits. */
  readonly labels: TensorLike;
  /** Logarithms of odds. */
  readonly logits: TensorLike;
  /** Weight of what belongs to the class. Broadcasts to the logits. */
  readonly posWeight: TensorLike;
}

const checkWeighted = argumentsCheck<WeightedCrossEntropyArgs>("weightedCrossEntropyWithLogits", {
  labels: true,
  logits: true,
  posWeight: true,
});

/**
 * Cross entropy of labels and the sigmoid of logits, in which labels count `posWeight` times: recall is traded for precision. Of the
 * logits' shape. Throws `ValueError` where the shapes differ. Follows TensorFlow `tf.nn.weighted_cross_entropy_with_logits`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const loss = tf.nn.weightedCrossEntropyWithLogits({ labels: [1, 0], logits: [-1000, 1000], posWeight: 3 });
 * console.log(loss.arraySync()); // [3000, 1000]
 * ```
 */
export function weightedCrossEntropyWithLogits(args: WeightedCrossEntropyArgs): Tensor {
  checkWeighted(args);
  return compose(() => {
    const fn = "weightedCrossEntropyWithLogits", { labels, logits } = args;
    const [z, x] = sameFloats(fn, { labels, logits });
    const weight = castInput(toFloatInput(args.posWeight, "posWeight", fn), x.dtype);
    const factor = add(1, mul(sub(asTensor(weight), 1), z));
    return add(mul(sub(1, z), x), mul(factor, softplus(neg(x))));
  });
}

/** Options of {@linkcode logPoissonLoss}. */
export interface LogPoissonOptions {
  /** True: Stirling's approximation of the targets' logarithmic factorials is added. Default false. */
  readonly computeFullLoss?: boolean;
}

const checkPoisson = optionCheck<LogPoissonOptions>("logPoissonLoss", { computeFullLoss: true });

/**
 * `exp(logInput) - logInput * targets`: the negative logarithm of the likelihood of counts with Poisson's distribution, whose
 * logarithmic mean is predicted. Of the operands' shape. Throws `ValueError` where the shapes differ. Follows TensorFlow
 * `tf.nn.log_poisson_loss`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.logPoissonLoss([2, 5], [0, 0]).arraySync()); // [1, 1]
 * ```
 */
export function logPoissonLoss(
  targets: TensorLike,
  logInput: TensorLike,
  options: LogPoissonOptions = {},
): Tensor {
  checkPoisson(options);
  return compose(() => {
    const [z, x] = sameFloats("logPoissonLoss", { targets, logInput });
    const loss = sub(exp(x), mul(x, z));
    if (!options.computeFullLoss) return loss;
    const isSmall = logicalAnd(greaterEqual(z, 0), lessEqual(z, 1));
    // Where small targets are left out, their logarithm would still reach the gradient.
    const large = where(isSmall, 2, z);
    const stirling = add(sub(xlogy(large, large), large), mul(log(mul(large, 2 * Math.PI)), 0.5));
    return add(loss, where(isSmall, zerosLike(z), stirling));
  });
}
