/** Learning rates that follow a step count. */
import { wantBoolean, wantList, wantNumber } from "../../engine/core/arguments.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { asTensor, toInput } from "../../engine/ops/input.ts";
import { add, div, mul, neg, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { equal, greater } from "../../engine/ops/pointwise/compare.ts";
import { exp, log } from "../../engine/ops/pointwise/exponential.ts";
import { pow } from "../../engine/ops/pointwise/power.ts";
import { ceil, floor } from "../../engine/ops/pointwise/rounding.ts";
import { minimum, where } from "../../engine/ops/pointwise/select.ts";
import { cos } from "../../engine/ops/pointwise/trigonometric.ts";

/** Converts the rate, the step and other numbers to the rate's dtype. Throws `ValueError` where there is no step. */
function inDTypeOf(
  learningRate: TensorLike,
  globalStep: TensorLike | null,
  name: string,
): { rate: Tensor; step: Tensor; number: (x: TensorLike) => Tensor } {
  if (globalStep === null || globalStep === undefined) {
    throw new ValueError(`global_step is required for ${name}.`);
  }
  const rate = asTensor(toInput(learningRate, "learningRate", name));
  const number = (x: TensorLike): Tensor => cast(x, rate.dtype);
  return { rate, step: number(globalStep), number };
}

/**
 * `learningRate · decayRate ^ (globalStep / decaySteps)`, in whole powers where `staircase`. Follows TensorFlow
 * `tf.compat.v1.train.exponential_decay`. Throws `ValueError` without a step, as all of them do.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.compat.v1.train.exponentialDecay(8, 3, 2, 0.5, true).item()); // 4
 * ```
 */
export function exponentialDecay(
  learningRate: TensorLike,
  globalStep: TensorLike,
  decaySteps: TensorLike,
  decayRate: TensorLike,
  staircase = false,
): Tensor {
  wantBoolean(staircase, "staircase", "exponentialDecay");
  const { rate, step, number } = inDTypeOf(learningRate, globalStep, "exponential_decay");
  const turns = div(step, number(decaySteps));
  return mul(rate, pow(number(decayRate), staircase ? floor(turns) : turns));
}

/**
 * `learningRate · exp(-decayRate · globalStep / decaySteps)`, at whole quotients where `staircase`. Follows TensorFlow
 * `tf.compat.v1.train.natural_exp_decay`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.compat.v1.train.naturalExpDecay(8, 1, 2, 0.5, true).item()); // 8
 * ```
 */
export function naturalExpDecay(
  learningRate: TensorLike,
  globalStep: TensorLike,
  decaySteps: TensorLike,
  decayRate: TensorLike,
  staircase = false,
): Tensor {
  wantBoolean(staircase, "staircase", "naturalExpDecay");
  const { rate, step, number } = inDTypeOf(learningRate, globalStep, "natural_exp_decay");
  return exponentialDecay(rate, step, decaySteps, exp(neg(number(decayRate))), staircase);
}

/**
 * `learningRate / (1 + decayRate · globalStep / decaySteps)`, at whole quotients where `staircase`. Follows TensorFlow
 * `tf.compat.v1.train.inverse_time_decay`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.compat.v1.train.inverseTimeDecay(8, 2, 2, 1).item()); // 4
 * ```
 */
export function inverseTimeDecay(
  learningRate: TensorLike,
  globalStep: TensorLike,
  decaySteps: TensorLike,
  decayRate: TensorLike,
  staircase = false,
): Tensor {
  wantBoolean(staircase, "staircase", "inverseTimeDecay");
  const { rate, step, number } = inDTypeOf(learningRate, globalStep, "inverse_time_decay");
  const turns = div(step, number(decaySteps));
  return div(rate, add(mul(number(decayRate), staircase ? floor(turns) : turns), 1));
}

/**
 * `values[0]` up to `boundaries[0]`, that included, then `values[1]` up to `boundaries[1]`, and so on. Follows TensorFlow
 * `tf.compat.v1.train.piecewise_constant`. Throws `ValueError` unless there is one value more than boundaries.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const rates = [2, 3, 4].map((step) => tf.compat.v1.train.piecewiseConstant(step, [2, 3], [1, 0.5, 0.25]).item());
 * console.log(rates); // [1, 0.5, 0.25]
 * ```
 */
export function piecewiseConstant(
  x: TensorLike,
  boundaries: readonly TensorLike[],
  values: readonly TensorLike[],
): Tensor {
  wantList(boundaries, "boundaries", "piecewiseConstant");
  wantList(values, "values", "piecewiseConstant");
  if (boundaries.length !== values.length - 1) {
    throw new ValueError(
      "The length of boundaries should be 1 less than the length of values: " +
        `received ${boundaries.length} boundaries and ${values.length} values`,
    );
  }
  const at = asTensor(toInput(x, "x", "piecewiseConstant"));
  const parts = values.map((v, i) => asTensor(toInput(v, `values[${i}]`, "piecewiseConstant")));
  return boundaries.reduce<Tensor>(
    (before, end, i) => where(greater(at, cast(end, at.dtype)), parts[i + 1], before),
    parts[0],
  );
}

/**
 * From `learningRate` to `endLearningRate` by `(1 - globalStep / decaySteps) ^ power`; where `cycle`, over and over in ever more
 * steps. Follows TensorFlow `tf.compat.v1.train.polynomial_decay`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.compat.v1.train.polynomialDecay(8, 1, 2, 0).item()); // 4
 * ```
 */
export function polynomialDecay(
  learningRate: TensorLike,
  globalStep: TensorLike,
  decaySteps: TensorLike,
  endLearningRate: TensorLike = 0.0001,
  power: TensorLike = 1,
  cycle = false,
): Tensor {
  wantBoolean(cycle, "cycle", "polynomialDecay");
  const { rate, step, number } = inDTypeOf(learningRate, globalStep, "polynomial_decay");
  const steps = number(decaySteps), end = number(endLearningRate);
  const begun = where(equal(step, 0), number(1), ceil(div(step, steps)));
  const done = cycle ? div(step, mul(steps, begun)) : div(minimum(step, steps), steps);
  return add(mul(sub(rate, end), pow(sub(1, done), number(power))), end);
}

/** Half a wave of the cosine, from 1 at 0 to 0 at 1. */
function halfWave(part: Tensor): Tensor {
  return mul(add(cos(mul(part, Math.PI)), 1), 0.5);
}

/**
 * From `learningRate` to `alpha · learningRate` along half a wave of the cosine, in `decaySteps`. Follows TensorFlow
 * `tf.compat.v1.train.cosine_decay`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.compat.v1.train.cosineDecay(8, 5, 10).item().toFixed(3)); // 4.000
 * ```
 */
export function cosineDecay(
  learningRate: TensorLike,
  globalStep: TensorLike,
  decaySteps: TensorLike,
  alpha: number = 0,
): Tensor {
  wantNumbers({ alpha }, "cosineDecay");
  const { rate, step, number } = inDTypeOf(learningRate, globalStep, "cosine_decay");
  const steps = number(decaySteps);
  const wave = halfWave(div(minimum(step, steps), steps));
  return mul(rate, add(mul(wave, 1 - alpha), alpha));
}

/**
 * Repeated {@linkcode cosineDecay}: each time in `tMul` times as many steps, from `mMul` times the rate. Follows
 * TensorFlow `tf.compat.v1.train.cosine_decay_restarts`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.compat.v1.train.cosineDecayRestarts(8, 10, 10).item().toFixed(3)); // 8.000
 * ```
 */
export function cosineDecayRestarts(
  learningRate: TensorLike,
  globalStep: TensorLike,
  firstDecaySteps: TensorLike,
  tMul: number = 2,
  mMul: number = 1,
  alpha: number = 0,
): Tensor {
  wantNumbers({ tMul, mMul, alpha }, "cosineDecayRestarts");
  const { rate, step, number } = inDTypeOf(learningRate, globalStep, "cosine_decay_restarts");
  const done = div(step, number(firstDecaySteps)),
    power = (base: number, n: Tensor): Tensor => pow(number(base), n);
  const restarts = tMul === 1
    ? floor(done)
    : floor(div(log(sub(1, mul(done, 1 - tMul))), Math.log(tMul)));
  const part = tMul === 1 ? sub(done, restarts) : div(
    sub(done, div(sub(1, power(tMul, restarts)), 1 - tMul)),
    power(tMul, restarts),
  );
  const wave = mul(power(mMul, restarts), halfWave(part));
  return mul(rate, add(mul(wave, 1 - alpha), alpha));
}

/**
 * `learningRate · ((line + alpha) · wave + beta)`, of a falling line and `numPeriods` waves of the cosine. Follows
 * TensorFlow `tf.compat.v1.train.linear_cosine_decay`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.compat.v1.train.linearCosineDecay(8, 0, 10).item().toFixed(3)); // 8.008
 * ```
 */
export function linearCosineDecay(
  learningRate: TensorLike,
  globalStep: TensorLike,
  decaySteps: TensorLike,
  numPeriods: number = 0.5,
  alpha: number = 0,
  beta: number = 0.001,
): Tensor {
  wantNumbers({ numPeriods, alpha, beta }, "linearCosineDecay");
  const { rate, step, number } = inDTypeOf(learningRate, globalStep, "linear_cosine_decay");
  const steps = number(decaySteps), done = minimum(step, steps);
  const line = div(sub(steps, done), steps), part = mul(div(done, steps), 2 * numPeriods);
  return mul(rate, add(mul(add(line, alpha), halfWave(part)), beta));
}

function wantNumbers(values: Readonly<Record<string, number>>, fn: string): void {
  for (const [name, value] of Object.entries(values)) wantNumber(value, name, fn);
}
