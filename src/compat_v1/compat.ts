/**
 * Namespace `tf.compat`: TensorFlow 1's spellings.
 * May import this folder.
 */
export * as v1 from "./mod.ts";
