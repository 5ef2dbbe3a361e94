/** Draws of layers in training: of a layer's own source where its configuration has a seed, which gives a model the same numbers run after run. */
import * as tf from "../../../../mod.ts";
import type { Settings } from "../layer_kinds.ts";

/** Sources of the layers that are called now, the innermost last; null for one without a seed. */
const sources: (tf.random.Generator | null)[] = [];
const own = (): tf.random.Generator | null => sources.at(-1) ?? null;

/** Makes the source of a layer whose configuration has a seed. */
export function sourceOf({ seed }: Settings): tf.random.Generator | null {
  return typeof seed === "number" && Number.isInteger(seed)
    ? tf.random.Generator.fromSeed(seed)
    : null;
}

/** Calls a function whose draws are those of a source. */
export function drawingFrom<T>(source: tf.random.Generator | null, call: () => T): T {
  sources.push(source);
  try {
    return call();
  } finally {
    sources.pop();
  }
}

/** Draws from 0 to 1. */
export const uniformly = (shape: tf.TensorLike): tf.Tensor =>
  own()?.uniform(shape, 0, 1) ?? tf.randomUniform(shape, 0, 1);

/** Draws of a normal distribution. */
export const normally = (shape: tf.TensorLike): tf.Tensor =>
  own()?.normal(shape) ?? tf.randomNormal(shape);

/** Draws of whole numbers, `most` excluded. */
export const wholly = (shape: tf.TensorLike, least: number, most: number): tf.Tensor =>
  own()?.uniform(shape, least, most, "int32") ?? tf.randomUniformInt(shape, least, most);

/** Draws of a gamma distribution. */
export function gammas(shape: tf.TensorLike, alpha: tf.TensorLike): tf.Tensor {
  const source = own();
  if (!source) return tf.randomGamma(shape, alpha);
  return tf.random.statelessGamma(shape, tf.reshape(source.makeSeeds(), [2]), alpha);
}

/** Draws an order of rows. */
export function shuffled(x: tf.Tensor): tf.Tensor {
  const source = own();
  if (!source) return tf.random.shuffle(x);
  return tf.gather(x, tf.argsort(source.uniform(tf.gather(tf.shape(x), [0]))));
}

/** Drops elements, and scales what is left; a mask of another shape is broadcast. */
export function dropped(x: tf.Tensor, rate: number, shape?: tf.TensorLike): tf.Tensor {
  if (!(rate > 0)) return tf.clone(x);
  if (rate >= 1) return tf.zerosLike(x);
  const kept = tf.greaterEqual(uniformly(shape ?? tf.shape(x)), rate);
  return tf.where(kept, tf.mul(x, 1 / (1 - rate)), 0);
}
