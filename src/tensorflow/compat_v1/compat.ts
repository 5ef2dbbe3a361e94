/**
 * Namespace `tf.compat`: TensorFlow 1's spellings, and TensorFlow 2's, which are `tf` itself.
 */
export * as v1 from "./mod.ts";
export * as v2 from "../../../mod.ts";
