/** Namespace `tf.compat`: TensorFlow 1's spellings, and TensorFlow 2's, which are `tf` itself. */
/** TensorFlow 1's names. */
export * as v1 from "./mod.ts";
/** TensorFlow 2's names: this library itself. */
export * as v2 from "../../../mod.ts";
