/** Files of arrays: npy, npz, safetensors; and variables saved in them. The public name is `tf.io`. */
export type { Bytes, Writable } from "./bytes.ts";
export type { ByteSource, Compression } from "./byte_stream.ts";
export { type TFRecordOptions, TFRecordWriter } from "./tf_record.ts";
export { readNpy, writeNpy } from "./npy.ts";
export { readNpz, writeNpz } from "./npz.ts";
export { quantizedFrom } from "./quantized.ts";
export { readSafetensors, type Safetensors, writeSafetensors } from "./safetensors.ts";
export {
  type LoadOptions,
  loadVariables,
  restoreVariables,
  type SavedValues,
  saveVariables,
  serializeVariables,
  type VariableFormat,
  type Variables,
} from "./variables.ts";
export type { Stateful } from "./checkpoint/stateful.ts";
export {
  type ExampleDType,
  type ExampleFeatures,
  FixedLenFeature,
  FixedLenSequenceFeature,
  type ParsedExample,
  type PartitionedFeature,
  RaggedFeature,
  type RaggedFeatures,
  type RaggedPartition,
  VarLenFeature,
} from "./decode/example_features.ts";
export {
  encodeExample,
  type ExampleValue,
  parseExample,
  type ParseExampleOptions,
  parseSingleExample,
} from "./examples.ts";
export { SparseFeature } from "./decode/sparse_feature.ts";
export {
  type ParsedSequences,
  parseSequenceExample,
  parseSingleSequenceExample,
  type SequenceExampleFeatures,
  type SequenceFeatures,
} from "./decode/sequence_examples.ts";
export {
  decodeCsv,
  type DecodeCsvOptions,
  decodeRaw,
  type DecodeRawOptions,
  parseTensor,
  serializeTensor,
} from "../../engine/ops/decode/mod.ts";
export {
  deserializeManySparse,
  serializeManySparse,
  serializeSparse,
} from "../../engine/ops/decode/mod.ts";
export {
  adjustJpegQuality,
  decodeAndCropJpeg,
  extractJpegShape,
  isJpeg,
  randomJpegQuality,
  statelessRandomJpegQuality,
} from "./decode/jpeg.ts";
export { decodeBmp, type DecodeBmpOptions, decodeGif } from "./decode/pictures.ts";
export { decodeCompressed } from "./decode/compressed.ts";
export { type ImageCodec, type ImageFormat, type Pixels, registerImageCodec } from "./codecs.ts";
export {
  type Contents,
  decodeImage,
  decodeImageAsync,
  type DecodeImageOptions,
  decodeJpeg,
  type DecodeJpegOptions,
  decodePng,
  decodeWav,
  type DecodeWavOptions,
  encodeJpeg,
  type EncodeJpegOptions,
  encodePng,
  encodeWav,
  readFile,
  type Wav,
} from "./image_ops.ts";
