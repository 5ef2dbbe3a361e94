/**
 * Namespace `tf.compat.v1.ragged`: `tf.ragged`, and ragged tensors to be fed.
 */
export * from "../../engine/ops/ragged/namespace.ts";
export { raggedPlaceholder as placeholder } from "./placeholders.ts";
