/** Transformations of updates, of which `tf.train.chain` makes optimizers. The public name is `tf.train.transforms`. */
import {
  optionCheck,
  wantBoolean,
  wantFunction,
  wantNumber,
  wrongArgument,
} from "../../engine/core/arguments.ts";
import { compose } from "../../engine/core/apply.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { normalizeAxis } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { addN, div, mul, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { logicalAnd } from "../../engine/ops/pointwise/logical.ts";
import { greater } from "../../engine/ops/pointwise/compare.ts";
import { sqrt, square } from "../../engine/ops/pointwise/power.ts";
import { maximum, where } from "../../engine/ops/pointwise/select.ts";
import { mean, sum } from "../../engine/ops/reduce/reduce.ts";
import {
  clipByGlobalNorm as clipTogether,
  clipByNorm as clipOne,
} from "../../engine/ops/reduce/reduce_derived.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";
import { checkedRate, type Rate, rateAt, type Schedule } from "./rate.ts";
import { type EachStage, type PartStage, partStage, type Stage } from "./stages.ts";

/** A part of a chain: it turns updates, which begin as gradients, into others. The functions of `tf.train.transforms` make them. */
export interface Transformation {
  /** Name of the function that made it. */
  readonly name: string;
  /** The arguments of that function. */
  readonly args: readonly unknown[];
  /** The stages of a step. */
  readonly stages: readonly Stage[];
  /** The learning rate, where it is the one of the chain. */
  readonly rate?: Rate;
}

/** Rows that a gradient does not name may be left alone. */
const LEAVES = { leavesUnnamedRows: true } as const;

function one(name: string, args: readonly unknown[], stage: Stage): Transformation {
  return { name, args, stages: [stage] };
}

/** Makes a stage of a function of the update and the variable. */
function each(update: (update: Tensor, variable: Tensor) => Tensor): EachStage {
  return { each: (x) => ({ update: compose(() => update(x.update, x.variable)) }) };
}

function positive(value: number, name: string, fn: string): void {
  wantNumber(value, name, fn);
  if (!(value > 0)) {
    throw new ValueError(`Cannot make ${fn}(): ${name} must be above 0, received ${value}`);
  }
}

/**
 * Multiplies updates by a number: `scale(-0.1)` at the end of a chain is gradient descent.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable(1);
 * using optimizer = tf.train.chain(tf.train.transforms.scale(-0.25));
 * optimizer.minimize(() => tf.square(w));
 * console.log(w.item()); // 0.5
 * ```
 */
export function scale(factor: number): Transformation {
  wantNumber(factor, "factor", "scale");
  return one("scale", [factor], partStage("scale", { factor }, LEAVES));
}

/**
 * Multiplies updates by minus the learning rate: the last transformation of most chains. The optimizer's `learningRate` is this one.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { scaleByAdam, scaleByLearningRate } = tf.train.transforms;
 * const rate = tf.train.schedules.linear(1, 0, 4);
 * using optimizer = tf.train.chain(scaleByAdam(), scaleByLearningRate(rate));
 * console.log(optimizer.learningRate); // 1
 * ```
 */
export function scaleByLearningRate(rate: Rate): Transformation {
  const stage = partStage("rate", {}, { ...LEAVES, scalars: (now) => [now.rate] });
  return {
    ...one("scaleByLearningRate", [rate], stage),
    rate: checkedRate(rate, "rate", "scaleByLearningRate()"),
  };
}

/**
 * Multiplies updates by a function of the number of steps taken before.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { scale, scaleBySchedule } = tf.train.transforms;
 * using w = tf.variable(1);
 * using optimizer = tf.train.chain(scaleBySchedule((step: tf.Tensor) => tf.pow(0.5, step)), scale(-1));
 * for (let i = 0; i < 2; i++) optimizer.minimize(() => tf.mul(w, 1));
 * console.log(w.item()); // -0.5
 * ```
 */
export function scaleBySchedule(schedule: Schedule | ((step: Tensor) => Tensor)): Transformation {
  wantFunction(schedule, "schedule", "scaleBySchedule");
  const scalars: Stage["scalars"] = ({ step, a }) => [
    rateAt(schedule, a.sub(step, a.number(1)), a),
  ];
  return one("scaleBySchedule", [schedule], partStage("schedule", {}, { ...LEAVES, scalars }));
}

/**
 * Clips each element of updates to `±limit`. Throws `ValueError` unless it is above 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { clip, scale } = tf.train.transforms;
 * using w = tf.variable([1, 1]);
 * using optimizer = tf.train.chain(clip(0.5), scale(-1));
 * optimizer.minimize(() => tf.sum(tf.mul(w, [3, 0.25])));
 * console.log(w.arraySync()); // [0.5, 0.75]
 * ```
 */
export function clip(limit: number): Transformation {
  positive(limit, "limit", "clip");
  return one("clip", [limit], partStage("clip", { limit }, LEAVES));
}

/**
 * Scales the update of each variable down where its Euclidean norm exceeds `norm`, as Keras's `clipnorm`. Throws `ValueError` unless it is above 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { clipByNorm, scale } = tf.train.transforms;
 * using w = tf.variable([0, 0]);
 * using optimizer = tf.train.chain(clipByNorm(2.5), scale(-1));
 * optimizer.minimize(() => tf.sum(tf.mul(w, [3, 4])));
 * console.log(w.arraySync()); // [-1.5, -2]
 * ```
 */
export function clipByNorm(norm: number): Transformation {
  positive(norm, "norm", "clipByNorm");
  return one("clipByNorm", [norm], each((update) => clipOne(update, norm)));
}

/**
 * Scales all updates down together where their common norm exceeds `norm`, as `tf.clipByGlobalNorm`. Throws `ValueError`
 * unless it is above 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using v = tf.variable([3, 4]), w = tf.variable(1);
 * using optimizer = tf.train.chain(tf.train.transforms.clipByGlobalNorm(5), tf.train.sgd(1));
 * optimizer.minimize(() => tf.add(tf.sum(tf.square(v)), tf.mul(0, w)));
 * console.log(v.arraySync()); // [0, 0]
 * ```
 */
export function clipByGlobalNorm(norm: number): Transformation {
  positive(norm, "norm", "clipByGlobalNorm");
  return one("clipByGlobalNorm", [norm], {
    ...LEAVES,
    all: (updates) =>
      compose(() => {
        const squares = updates.map(({ update, shares }) =>
          sum(shares ? mul(square(update), shares) : square(update))
        );
        const length = sqrt(addN(squares.map((s) => cast(s, squares[0].dtype))));
        return updates.map(({ update }) =>
          clipTogether([update], norm, cast(length, update.dtype))[0][0]!
        );
      }),
  });
}

/**
 * Subtracts the mean over all axes but `axis`, that of the outputs, of variables of rank 2 and more: the last one in TensorFlow's layouts, 0 in
 * PyTorch's and in `optax.centralize`. A step throws `ValueError` for an axis that a variable has not.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { centralize, scale } = tf.train.transforms;
 * using w = tf.variable([[0], [0]]);
 * using optimizer = tf.train.chain(centralize(), scale(-1));
 * optimizer.minimize(() => tf.sum(tf.mul(w, [[1], [3]])));
 * console.log(w.arraySync()); // [[1], [-1]]
 * ```
 */
export function centralize(axis = -1): Transformation {
  wantNumber(axis, "axis", "centralize");
  const centered = (update: Tensor): Tensor => {
    if (update.rank < 2) return update;
    const kept = normalizeAxis(axis, update.rank);
    return sub(update, mean(update, [...update.shape.keys()].filter((i) => i !== kept), true));
  };
  return one("centralize", [axis], each(centered));
}

/**
 * Adds `weight` times the variable: decay apart from the gradient where it stands after the scaling of a chain, L2 before it.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { addDecayedWeights, scale } = tf.train.transforms;
 * using w = tf.variable(2);
 * using optimizer = tf.train.chain(addDecayedWeights(0.25), scale(-1));
 * optimizer.minimize(() => tf.mul(w, 0));
 * console.log(w.item()); // 1.5
 * ```
 */
export function addDecayedWeights(weight: number): Transformation {
  wantNumber(weight, "weight", "addDecayedWeights");
  return one("addDecayedWeights", [weight], partStage("decay", { weight }));
}

/**
 * Keeps `trace = decay · trace + update` as the update, or with `nesterov` the update plus `decay` times it: momentum.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { scale, trace } = tf.train.transforms;
 * using w = tf.variable(0);
 * using optimizer = tf.train.chain(trace(0.5), scale(-1));
 * for (let i = 0; i < 2; i++) optimizer.minimize(() => tf.mul(w, 1));
 * console.log(w.item()); // -2.5
 * ```
 */
export function trace(decay: number, nesterov = false): Transformation {
  wantNumber(decay, "decay", "trace");
  wantBoolean(nesterov, "nesterov", "trace");
  return one(
    "trace",
    [decay, nesterov],
    partStage("trace", { decay, nesterov }, { slots: [{ name: "trace" }] }),
  );
}

/** Settings of running means. */
export interface MomentOptions {
  /** Decay of the mean of updates. */
  readonly beta1?: number;
  /** Decay of the mean of squares. */
  readonly beta2?: number;
  /** Number added to the root. */
  readonly epsilon?: number;
}

const checkAdam = optionCheck<MomentOptions>("scaleByAdam", {
  beta1: true,
  beta2: true,
  epsilon: true,
});

/**
 * Adam's scaling: the mean of updates over the root of that of their squares, both corrected for their start. Default decays 0.9 and 0.999, epsilon 1e-8.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { scale, scaleByAdam } = tf.train.transforms;
 * using w = tf.variable(1);
 * using optimizer = tf.train.chain(scaleByAdam(), scale(-0.5));
 * optimizer.minimize(() => tf.mul(w, 7));
 * console.log(w.item().toFixed(3)); // 0.500
 * ```
 */
export function scaleByAdam(options: MomentOptions = {}): Transformation {
  checkAdam(options);
  const { beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8 } = options;
  return one("scaleByAdam", [{ beta1, beta2, epsilon }], adamStage({ beta1, beta2, epsilon }));
}

/** Adam's stage. */
export function adamStage(options: Required<MomentOptions>): PartStage {
  return partStage("adam", { ...options }, {
    slots: [{ name: "m" }, { name: "v" }],
    scalars: ({ step, a }) =>
      [options.beta1, options.beta2].map((beta) => {
        const one = a.number(1);
        return a.div(one, a.sub(one, a.pow(a.number(beta), step)));
      }),
  });
}

/**
 * Lion's scaling: the sign of a mean of the update and what was kept of those before. Default decays 0.9 and 0.99.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { scale, scaleByLion } = tf.train.transforms;
 * using w = tf.variable(1);
 * using optimizer = tf.train.chain(scaleByLion(), scale(-0.5));
 * optimizer.minimize(() => tf.mul(w, 7));
 * console.log(w.item()); // 0.5
 * ```
 */
export function scaleByLion(beta1 = 0.9, beta2 = 0.99): Transformation {
  wantNumber(beta1, "beta1", "scaleByLion");
  wantNumber(beta2, "beta2", "scaleByLion");
  return one(
    "scaleByLion",
    [beta1, beta2],
    partStage("lion", { beta1, beta2 }, { slots: [{ name: "m" }] }),
  );
}

/**
 * Divides by the root of the running mean of squares.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { scale, scaleByRms } = tf.train.transforms;
 * using w = tf.variable(1);
 * using optimizer = tf.train.chain(scaleByRms(0.75), scale(-0.25));
 * optimizer.minimize(() => tf.mul(w, 7));
 * console.log(w.item().toFixed(3)); // 0.500
 * ```
 */
export function scaleByRms(decay = 0.9, epsilon = 1e-8): Transformation {
  wantNumber(decay, "decay", "scaleByRms");
  wantNumber(epsilon, "epsilon", "scaleByRms");
  return one(
    "scaleByRms",
    [decay, epsilon],
    partStage("rms", { decay, epsilon }, { slots: [{ name: "v" }] }),
  );
}

/**
 * Keeps the signs of updates.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { scale, scaleBySign } = tf.train.transforms;
 * using w = tf.variable([0, 0]);
 * using optimizer = tf.train.chain(scaleBySign(), scale(-1));
 * optimizer.minimize(() => tf.sum(tf.mul(w, [3, -4])));
 * console.log(w.arraySync()); // [-1, 1]
 * ```
 */
export function scaleBySign(): Transformation {
  return one("scaleBySign", [], partStage("sign", {}, LEAVES));
}

/**
 * LAMB's scaling: an update gets the norm of its variable, unless one of the two is zero.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { scale, scaleByTrustRatio } = tf.train.transforms;
 * using w = tf.variable([2]);
 * using optimizer = tf.train.chain(scaleByTrustRatio(), scale(-0.5));
 * optimizer.minimize(() => tf.sum(tf.mul(w, 100)));
 * console.log(w.arraySync()); // [1]
 * ```
 */
export function scaleByTrustRatio(): Transformation {
  return one(
    "scaleByTrustRatio",
    [],
    each((update, variable) => {
      const [w, u] = [variable, update].map((x) => sqrt(sum(square(x))));
      return mul(update, where(logicalAnd(greater(w, 0), greater(u, 0)), div(w, u), 1));
    }),
  );
}

function rms(x: Tensor): Tensor {
  return sqrt(mean(square(x)));
}

/**
 * Scales the update of each variable down where its root mean square exceeds `threshold`. Throws `ValueError` unless it is above 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { clipByBlockRms, scale } = tf.train.transforms;
 * using w = tf.variable([0, 0]);
 * using optimizer = tf.train.chain(clipByBlockRms(1), scale(-1));
 * optimizer.minimize(() => tf.sum(tf.mul(w, [4, 4])));
 * console.log(w.arraySync()); // [-1, -1]
 * ```
 */
export function clipByBlockRms(threshold: number): Transformation {
  positive(threshold, "threshold", "clipByBlockRms");
  return one(
    "clipByBlockRms",
    [threshold],
    each((update) => div(update, maximum(1, div(rms(update), threshold)))),
  );
}

/**
 * Multiplies the update of each variable by the variable's root mean square, at least `least`. Throws `ValueError` unless that is above 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { scale, scaleByParameterRms } = tf.train.transforms;
 * using w = tf.variable([2, 2]);
 * using optimizer = tf.train.chain(scaleByParameterRms(), scale(-0.25));
 * optimizer.minimize(() => tf.sum(w));
 * console.log(w.arraySync()); // [1.5, 1.5]
 * ```
 */
export function scaleByParameterRms(least = 1e-3): Transformation {
  positive(least, "least", "scaleByParameterRms");
  return one(
    "scaleByParameterRms",
    [least],
    each((update, variable) => mul(update, maximum(rms(variable), least))),
  );
}

/**
 * The weights are kept `1 / size` behind: after each `period` steps they go the part `size` of the way that was taken. Stands after the
 * learning rate or an optimizer. After Zhang et al., "Lookahead Optimizer". Throws `ValueError` unless `period` is a whole number above 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable(0);
 * using optimizer = tf.train.chain(tf.train.sgd(1), tf.train.transforms.lookahead(2, 0.5));
 * for (let i = 0; i < 2; i++) optimizer.minimize(() => tf.mul(w, -4));
 * console.log(w.item()); // 4
 * ```
 */
export function lookahead(period = 6, size = 0.5): Transformation {
  positive(period, "period", "lookahead");
  wantNumber(size, "size", "lookahead");
  if (!Number.isInteger(period)) {
    throw new ValueError(`Cannot make lookahead(): period must be whole, received ${period}`);
  }
  const stage = partStage("lookahead", { size }, {
    slots: [{ name: "ahead" }],
    scalars: ({ step, a }) => {
      const turns = a.div(step, a.number(period)), half = a.number(0.5 / period);
      // Whole turns, but for rounding.
      const rest = a.sub(turns, a.floor(a.add(turns, half)));
      return [a.ifLess(rest, half, a.number(1), a.number(0))];
    },
  });
  return one("lookahead", [period, size], { ...stage, ofVariable: true });
}

/**
 * Lets a transformation take the updates of some variables only; those of others pass it by unchanged.
 *
 * @example No decay of biases
 * ```ts
 * import * as tf from "@weft/weft";
 * const { addDecayedWeights, masked, scaleByAdam, scaleByLearningRate } = tf.train.transforms;
 * const decay = masked(addDecayedWeights(0.01), (v) => v.rank > 1);
 * using optimizer = tf.train.chain(scaleByAdam(), decay, scaleByLearningRate(0.5));
 * using w = tf.variable([2]);
 * optimizer.minimize(() => tf.sum(tf.square(w)));
 * console.log(w.arraySync()); // [1.5]
 * ```
 */
export function masked(
  transformation: Transformation,
  only: (variable: Variable) => boolean,
): Transformation {
  if (!Array.isArray(transformation?.stages)) {
    throw wrongArgument(transformation, "transformation", "masked", "a transformation of updates");
  }
  wantFunction(only, "only", "masked");
  return {
    ...transformation,
    name: "masked",
    args: [transformation, only],
    stages: transformation.stages.map((stage) => ({
      ...stage,
      only: (v) => only(v) && (stage.only?.(v) ?? true),
    })),
  };
}

/**
 * A transformation without slots by a function of yours: of an update and its variable to the new update, all tensors of one shape.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const half = tf.train.transforms.stateless((update) => tf.mul(update, -0.5));
 * using w = tf.variable(1);
 * using optimizer = tf.train.chain(half);
 * optimizer.minimize(() => tf.mul(w, 1));
 * console.log(w.item()); // 0.5
 * ```
 */
export function stateless(
  update: (update: Tensor, variable: Tensor) => Tensor,
): Transformation {
  wantFunction(update, "update", "stateless");
  return one("stateless", [update], each(update));
}
