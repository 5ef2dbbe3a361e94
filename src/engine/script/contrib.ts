/** Namespace `tf.contrib`. */
export * as framework from "./contrib_framework.ts";
