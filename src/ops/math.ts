/**
 * The namespace `tf.math`.
 */
export { confusionMatrix } from "./array/count.ts";
