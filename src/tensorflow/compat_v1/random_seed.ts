/** The random seeds of an op and of its graph. */
import { type Seed, seedsOf } from "../../engine/ops/random/state.ts";

/**
 * The two seeds of an op: that of `setRandomSeed` and its own; both null where neither was given.
 * Follows TensorFlow `tf.compat.v1.get_seed`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * tf.compat.v1.setRandomSeed(7);
 * console.log(tf.compat.v1.getRandomSeed(3)); // [7, 3]
 * tf.compat.v1.setRandomSeed(null);
 * console.log(tf.compat.v1.getRandomSeed(3)); // [87654321, 3]
 * console.log(tf.compat.v1.getRandomSeed()); // [null, null]
 * ```
 */
export function getRandomSeed(opSeed: Seed | null = null): [number | null, number | null] {
  return seedsOf(opSeed);
}
