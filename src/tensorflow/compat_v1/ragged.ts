/** Namespace `tf.compat.v1.ragged`: `tf.ragged`, and placeholders of ragged tensors. */
export * from "../../engine/ops/ragged/namespace.ts";
export { raggedPlaceholder as placeholder } from "./placeholders.ts";
