/**
 * The namespace `tf.math`.
 * May import core and other ops.
 */
export { confusionMatrix } from "./count.ts";
