/** Functions that make optimizers of chained transformations. */
import {
  AdafactorOptimizer,
  LambOptimizer,
  LionOptimizer,
  MuonOptimizer,
  type MuonOptions,
} from "./chained_optimizers.ts";
import type { Rate } from "./rate.ts";

export * from "./chained_optimizers.ts";
export { accumulate, chain, ChainOptimizer } from "./chain.ts";

/**
 * Lion, after Chen et al., "Symbolic Discovery of Optimization Algorithms". Numerics of Keras's `Lion`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable([1, -2]);
 * using optimizer = tf.train.lion(0.5);
 * optimizer.minimize(() => tf.sum(tf.square(w)));
 * console.log(w.arraySync()); // [0.5, -1.5]
 * ```
 */
export function lion(
  learningRate: Rate = 0.001,
  beta1 = 0.9,
  beta2 = 0.99,
  weightDecay = 0,
): LionOptimizer {
  return new LionOptimizer(learningRate, beta1, beta2, weightDecay);
}

/**
 * LAMB, after You et al., "Large Batch Optimization for Deep Learning". Numerics of Keras's `Lamb`, but that decay of weights belongs to
 * the step whose length is set, as in the paper.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable([3, 4]);
 * using optimizer = tf.train.lamb(0.1);
 * optimizer.minimize(() => tf.sum(tf.square(w)));
 * console.log((w.dataSync()[0] as number).toFixed(4)); // 2.6464
 * ```
 */
export function lamb(
  learningRate: Rate = 0.001,
  beta1 = 0.9,
  beta2 = 0.999,
  epsilon = 1e-6,
  weightDecay = 0,
): LambOptimizer {
  return new LambOptimizer(learningRate, beta1, beta2, epsilon, weightDecay);
}

/**
 * Adafactor, after Shazeer and Stern. The state of a matrix is a row and a column. Numerics of Keras's `Adafactor`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable(tf.ones([4, 8]));
 * using optimizer = tf.train.adafactor(0.01);
 * optimizer.minimize(() => tf.sum(tf.square(w)));
 * const [, r, c] = await optimizer.getWeights();
 * console.log([r.tensor.shape, c.tensor.shape]); // [[4], [8]]
 * ```
 */
export function adafactor(
  learningRate: Rate = 0.001,
  beta2Decay = -0.8,
  epsilon1 = 1e-30,
  epsilon2 = 1e-3,
  clipThreshold = 1,
  relativeStep = true,
): AdafactorOptimizer {
  return new AdafactorOptimizer(
    ...[learningRate, beta2Decay, epsilon1, epsilon2, clipThreshold, relativeStep] as const,
  );
}

/**
 * Muon, after Jordan et al.: momentum of matrices is made orthogonal; AdamW trains all else. Numerics of Keras's `Muon`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable(tf.eye(3)), b = tf.variable([1, 2, 3]);
 * using optimizer = tf.train.muon(0.02);
 * const cost = () => tf.sum(tf.square(tf.add(w, b)));
 * const before = cost().item();
 * optimizer.minimize(cost);
 * console.log(cost().item() < before); // true
 * ```
 */
export function muon(learningRate: Rate = 0.001, options: MuonOptions = {}): MuonOptimizer {
  return new MuonOptimizer(learningRate, options);
}
