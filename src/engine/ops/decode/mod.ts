/** Functions of texts and bytes that `tf.io` shows, and parts of others. */
export { type Feature, ParseExampleV2, writeExample } from "../host/examples.ts";
export { ParseSequenceExampleV2 } from "../host/sequence_examples.ts";
export * from "./jpeg_parts.ts";
export { deserializeManySparse, serializeManySparse, serializeSparse } from "./sparse_texts.ts";
export {
  decodeCsv,
  type DecodeCsvOptions,
  decodeRaw,
  type DecodeRawOptions,
  parseTensor,
  serializeTensor,
  texts,
} from "./texts.ts";
export { defineStringMap } from "../text/define_string_map.ts";
export { type PartedBy, partitioned, type PartitionKind, wholeOf } from "./ragged_partitions.ts";
export { type Found, mergedSparse } from "./sparse_feature.ts";
