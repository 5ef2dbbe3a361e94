/** The random seeds of an op and of its graph. */
import { type Seed, seedsOf } from "../../engine/ops/random/state.ts";

/**
 * The two seeds of an op: that of `setRandomSeed` and its own; both null where neither was given.
 * Follows TensorFlow `tf.compat.v1.get_seed`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * tf.compat.v1.setRandomSeed(7);
 * assertEquals(tf.compat.v1.getRandomSeed(3), [7, 3]);
 * tf.compat.v1.setRandomSeed(null);
 * assertEquals(tf.compat.v1.getRandomSeed(3), [87654321, 3]);
 * assertEquals(tf.compat.v1.getRandomSeed(), [null, null]);
 * ```
 */
export function getRandomSeed(opSeed: Seed | null = null): [number | null, number | null] {
  return seedsOf(opSeed);
}
