/**
 * Namespace `tf.compat`: TensorFlow 1's spellings.
 */
export * as v1 from "./mod.ts";
