/** Functions that make optimizers. */
import {
  AdadeltaOptimizer,
  AdagradOptimizer,
  AdamaxOptimizer,
  AdamOptimizer,
  AdamWOptimizer,
  MomentumOptimizer,
  RMSPropOptimizer,
  SGDOptimizer,
} from "./optimizers.ts";
import type { Rate } from "./rate.ts";

export * from "./optimizers.ts";
export type { Rate, Schedule } from "./rate.ts";
/**
 * Plain gradient descent; where rows of a table were gathered, only those rows change. TensorFlow op
 * `ResourceApplyGradientDescent`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable([1, 2]);
 * tf.train.sgd(0.5).minimize(() => tf.sum(tf.mul(w, w)));
 * console.log(w.arraySync()); // [0, 0]
 * ```
 */
export function sgd(learningRate: Rate): SGDOptimizer {
  return new SGDOptimizer(learningRate);
}

/**
 * Gradient descent with momentum, plain or Nesterov's. TensorFlow op `ResourceApplyMomentum`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable(4);
 * using optimizer = tf.train.momentum(0.25, 0.5);
 * optimizer.minimize(() => tf.mul(w, w));
 * optimizer.minimize(() => tf.mul(w, w));
 * console.log(w.item()); // 0
 * ```
 */
export function momentum(
  learningRate: Rate,
  momentum: number,
  useNesterov = false,
): MomentumOptimizer {
  return new MomentumOptimizer(learningRate, momentum, useNesterov);
}

/**
 * RMSProp. `epsilon` is 1e-7 where it is null; `centered` uses the variance. TensorFlow ops `ResourceApplyRMSProp` and
 * `ResourceApplyCenteredRMSProp`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable(1);
 * using optimizer = tf.train.rmsprop(0.1);
 * optimizer.minimize(() => tf.mul(w, w));
 * console.log(w.item().toFixed(4)); // 0.6838
 * ```
 */
export function rmsprop(
  learningRate: Rate,
  decay = 0.9,
  momentum = 0,
  epsilon: number | null = null,
  centered = false,
): RMSPropOptimizer {
  return new RMSPropOptimizer(learningRate, decay, momentum, epsilon, centered);
}

/**
 * Adagrad; where rows of a table were gathered, only those rows and their sums change. TensorFlow op
 * `ResourceApplyAdagrad`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable(1);
 * using optimizer = tf.train.adagrad(0.1, 0);
 * optimizer.minimize(() => tf.mul(w, w));
 * console.log(w.item().toFixed(4)); // 0.9000
 * ```
 */
export function adagrad(learningRate: Rate, initialAccumulatorValue = 0.1): AdagradOptimizer {
  return new AdagradOptimizer(learningRate, initialAccumulatorValue);
}

/**
 * Adadelta. `epsilon` is 1e-7 where it is null. TensorFlow op `ResourceApplyAdadelta`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable(1);
 * using optimizer = tf.train.adadelta(1);
 * optimizer.minimize(() => tf.mul(w, w));
 * console.log(w.item() < 1); // true
 * ```
 */
export function adadelta(
  learningRate: Rate = 0.001,
  rho = 0.95,
  epsilon: number | null = null,
): AdadeltaOptimizer {
  return new AdadeltaOptimizer(learningRate, rho, epsilon);
}

/**
 * Adam. `epsilon` is 1e-7 where it is null. TensorFlow op `ResourceApplyAdam`, with the epsilon after the correction.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable(1);
 * using optimizer = tf.train.adam(0.1);
 * optimizer.minimize(() => tf.mul(w, w));
 * console.log(w.item().toFixed(4)); // 0.9000
 * ```
 */
export function adam(
  learningRate: Rate = 0.001,
  beta1 = 0.9,
  beta2 = 0.999,
  epsilon: number | null = null,
): AdamOptimizer {
  return new AdamOptimizer(learningRate, beta1, beta2, epsilon);
}

/**
 * AdaMax. `epsilon` is 1e-7 where it is null. TensorFlow op `ResourceApplyAdaMax`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable(1);
 * using optimizer = tf.train.adamax(0.1);
 * optimizer.minimize(() => tf.mul(w, w));
 * console.log(w.item().toFixed(4)); // 0.9000
 * ```
 */
export function adamax(
  learningRate: Rate = 0.002,
  beta1 = 0.9,
  beta2 = 0.999,
  epsilon: number | null = null,
  decay = 0,
): AdamaxOptimizer {
  return new AdamaxOptimizer(learningRate, beta1, beta2, epsilon, decay);
}

/**
 * AdamW: Adam with decoupled weight decay, as Keras's `AdamW`. `epsilon` is 1e-7 where it is null.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable(1);
 * using optimizer = tf.train.adamw(0.1, 0.5);
 * optimizer.minimize(() => tf.mul(w, w));
 * console.log(w.item().toFixed(4)); // 0.8500
 * ```
 */
export function adamw(
  learningRate: Rate = 0.001,
  weightDecay = 0.004,
  beta1 = 0.9,
  beta2 = 0.999,
  epsilon: number | null = null,
): AdamWOptimizer {
  return new AdamWOptimizer(learningRate, weightDecay, beta1, beta2, epsilon);
}
