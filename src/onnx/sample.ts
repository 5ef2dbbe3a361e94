/** Draws a token from logits, on their device. */
import * as tf from "../../mod.ts";
import type { Tensor } from "../../mod.ts";

/** The way to choose a token. */
export interface Sampling {
  /** Divisor of the logits; 0 takes the greatest. */
  readonly temperature: number;
  /** Number of the greatest logits that are drawn from; null for all. */
  readonly topK: number | null;
  /** The most likely tokens are drawn from, as many as have this probability together. */
  readonly topP: number;
}

/** Greatest float32. */
const MOST = 3.4028234663852886e38;
/** Least divisor of float32 that is no subnormal. */
const LEAST = 2 ** -126;

/** Returns a token of logits `[1, words]`, int32 `[1]`. `key`, two integers, decides all of it: Gumbel noise and the greatest. */
export function sampled(
  logits: Tensor,
  { temperature, topK, topP }: Sampling,
  key: Tensor,
): Tensor {
  if (temperature === 0) return tf.cast(tf.argMax(logits, -1), "int32");
  const words = logits.shape.at(-1)!, count = Math.min(topK ?? words, words);
  const isWhole = count === words && topP >= 1,
    wide = tf.cast(logits, "float32");
  // The greatest becomes 0, whatever the divisor; infinities stay.
  const below = tf.sub(wide, tf.clipByValue(tf.max(wide, -1, true), -MOST, MOST));
  const scaled = tf.div(below, Math.max(temperature, LEAST));
  const { values, indices } = isWhole ? { values: scaled, indices: null } : tf.topk(scaled, count);
  let kept = values;
  if (topP < 1) {
    // The first is kept whatever its probability.
    const before = tf.cumsum(tf.softmax(values), -1, true);
    kept = tf.where(tf.less(before, topP), values, -Infinity);
  }
  const noise = tf.neg(tf.log(tf.neg(tf.log(tf.random.statelessUniform([1, count], key)))));
  const chosen = tf.cast(tf.argMax(tf.add(kept, noise), -1), "int32");
  return indices === null
    ? chosen
    : tf.reshape(tf.gather(tf.reshape(indices, [count]), chosen), [1]);
}
