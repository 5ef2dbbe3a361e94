/** Initializers: functions that make a variable's initial value from its shape and dtype. */
import { optionCheck, wantNumber } from "../../engine/core/arguments.ts";
import type { DType } from "../../engine/core/dtype.ts";
import { ValueError } from "../../engine/core/errors.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import { toNdArray } from "../../engine/core/convert.ts";
import { broadcastTo } from "../../engine/ops/array/repeat.ts";
import { reshape } from "../../engine/ops/array/view.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { ones, zeros } from "../../engine/ops/array/creation.ts";
import { randomNormal, randomUniform, truncatedNormal } from "../../engine/ops/random/random.ts";

/** Makes the initial value of a variable. */
export type Initializer = (shape: readonly number[], dtype?: DType) => Tensor;

/** Throws `TypeError` for a setting that is no number; those that are absent are left to defaults. */
function wantNumbers(fn: string, settings: Readonly<Record<string, unknown>>): void {
  for (const [arg, value] of Object.entries(settings)) {
    if (value !== undefined && value !== null) wantNumber(value, arg, fn);
  }
}

/**
 * Zeros. Follows TensorFlow `tf.compat.v1.zeros_initializer`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.compat.v1.zerosInitializer()([2]).arraySync()); // [0, 0]
 * ```
 */
export function zerosInitializer(): Initializer {
  return (shape, dtype = "float32") => zeros([...shape], dtype);
}

/**
 * Ones. Follows TensorFlow `tf.compat.v1.ones_initializer`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.compat.v1.onesInitializer()([2]).arraySync()); // [1, 1]
 * ```
 */
export function onesInitializer(): Initializer {
  return (shape, dtype = "float32") => ones([...shape], dtype);
}

/**
 * A value for all elements, or one for each element. Follows TensorFlow `tf.compat.v1.constant_initializer`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.compat.v1.constantInitializer([1, 2, 3, 4])([2, 2]).arraySync()); // [[1, 2], [3, 4]]
 * ```
 */
export function constantInitializer(value: TensorLike): Initializer {
  return (shape, dtype = "float32") => {
    const given = cast(value, dtype);
    return given.size === 1
      ? broadcastTo(reshape(given, []), [...shape])
      : reshape(given, toNdArray([...shape], { dtype: "int32" }));
  };
}

/**
 * Normally distributed values. Follows TensorFlow `tf.compat.v1.random_normal_initializer`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.compat.v1.randomNormalInitializer(0, 0.1)([2, 3]).shape); // [2, 3]
 * ```
 */
export function randomNormalInitializer(mean = 0, stddev = 1, seed?: number): Initializer {
  wantNumbers("randomNormalInitializer", { mean, stddev, seed });
  return (shape, dtype = "float32") =>
    randomNormal([...shape], mean, stddev, dtype as "float32", seed);
}

/**
 * Normally distributed values within two deviations. Follows TensorFlow `tf.compat.v1.truncated_normal_initializer`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const values = tf.compat.v1.truncatedNormalInitializer(0, 1)([100]);
 * console.log(tf.max(tf.abs(values)).item() <= 2); // true
 * ```
 */
export function truncatedNormalInitializer(mean = 0, stddev = 1, seed?: number): Initializer {
  wantNumbers("truncatedNormalInitializer", { mean, stddev, seed });
  return (shape, dtype = "float32") =>
    truncatedNormal([...shape], mean, stddev, dtype as "float32", seed);
}

/**
 * Uniform values between two bounds. Follows TensorFlow `tf.compat.v1.random_uniform_initializer`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const values = tf.compat.v1.randomUniformInitializer(2, 3)([100]);
 * console.log(tf.min(values).item() >= 2); // true
 * ```
 */
export function randomUniformInitializer(minval = 0, maxval = 1, seed?: number): Initializer {
  wantNumbers("randomUniformInitializer", { minval, maxval, seed });
  return (shape, dtype = "float32") =>
    randomUniform([...shape], minval, maxval, dtype as "float32", seed);
}

/** Options of {@linkcode varianceScalingInitializer}. */
export interface VarianceScalingOptions {
  /** Numerator of the variance. Default 1. */
  readonly scale?: number;
  /** Denominator of the variance. Default `"fan_in"`. */
  readonly mode?: "fan_in" | "fan_out" | "fan_avg";
  /** Distribution of the values. Default `"truncated_normal"`. */
  readonly distribution?: "uniform" | "untruncated_normal" | "truncated_normal" | "normal";
  /** Seed. */
  readonly seed?: number | undefined;
}

const checkScaling = optionCheck<VarianceScalingOptions>("varianceScalingInitializer", {
  scale: true,
  mode: true,
  distribution: true,
  seed: true,
});

/** Standard deviation of a normal distribution cut at two deviations. */
const TRUNCATED_DEVIATION = 0.87962566103423978;

/**
 * Values whose variance is `scale` over the number of inputs or outputs. Follows TensorFlow
 * `tf.compat.v1.variance_scaling_initializer`. Throws `ValueError` where `scale` is not positive.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.compat.v1.varianceScalingInitializer({ scale: 2, mode: "fan_in" })([3, 4]).shape); // [3, 4]
 * ```
 */
export function varianceScalingInitializer(options: VarianceScalingOptions = {}): Initializer {
  checkScaling(options);
  const { scale = 1, mode = "fan_in", distribution = "truncated_normal", seed } = options;
  if (!(scale > 0)) {
    throw new ValueError(`Argument \`scale\` must be a positive float. Received: ${scale}`);
  }
  return (shape, dtype = "float32") => {
    const [fanIn, fanOut] = fans(shape);
    const fan = mode === "fan_in" ? fanIn : mode === "fan_out" ? fanOut : (fanIn + fanOut) / 2;
    const variance = scale / Math.max(1, fan);
    if (distribution === "uniform") {
      const limit = Math.sqrt(3 * variance);
      return randomUniformInitializer(-limit, limit, seed)(shape, dtype);
    }
    if (distribution === "untruncated_normal") {
      return randomNormalInitializer(0, Math.sqrt(variance), seed)(shape, dtype);
    }
    const stddev = Math.sqrt(variance) / TRUNCATED_DEVIATION;
    return truncatedNormalInitializer(0, stddev, seed)(shape, dtype);
  };
}

/** Returns the numbers of inputs and outputs of a unit. */
function fans(shape: readonly number[]): [number, number] {
  if (shape.length < 1) return [1, 1];
  if (shape.length === 1) return [shape[0], shape[0]];
  const field = shape.slice(0, -2).reduce((a, b) => a * b, 1);
  return [field * shape.at(-2)!, field * shape.at(-1)!];
}

/**
 * Uniform values in the scale of Glorot and Bengio (2010), the default of `getVariable`. Follows TensorFlow
 * `tf.compat.v1.glorot_uniform_initializer`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const values = tf.compat.v1.glorotUniformInitializer()([3, 3]);
 * console.log(tf.max(tf.abs(values)).item() <= 1); // true
 * ```
 */
export function glorotUniformInitializer(seed?: number): Initializer {
  wantNumbers("glorotUniformInitializer", { seed });
  return varianceScalingInitializer({ mode: "fan_avg", distribution: "uniform", seed });
}

/**
 * Normal values in the scale of Glorot and Bengio (2010). Follows TensorFlow `tf.compat.v1.glorot_normal_initializer`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.compat.v1.glorotNormalInitializer()([3, 3]).shape); // [3, 3]
 * ```
 */
export function glorotNormalInitializer(seed?: number): Initializer {
  wantNumbers("glorotNormalInitializer", { seed });
  return varianceScalingInitializer({ mode: "fan_avg", seed });
}
