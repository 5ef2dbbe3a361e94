/**
 * Namespace `tf.contrib`.
 * May import this folder.
 */
export * as framework from "./contrib_framework.ts";
