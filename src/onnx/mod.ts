/**
 * Models of ONNX as graphs of Weft's: run, composed, trained.
 *
 * @module
 */
import "../../mod.ts";

export { loadOnnx, type LoadOnnxOptions } from "./load_onnx.ts";
export { generate, type GenerateOptions } from "./generate.ts";
export { Lora, lora, type LoraOptions } from "./lora.ts";
export {
  encodeOnnx,
  encodeOnnxAsync,
  type EncodeOnnxOptions,
  onnxPortability,
} from "./encode_onnx.ts";
export type {
  Exportable,
  GraphModelLike,
  LayersModelLike,
  NamedTensor,
  SignatureLike,
} from "./exported.ts";
export type { UnportableOnnxNode } from "./write/writer.ts";
export { inspectOnnx, type OnnxInspection } from "./inspect_onnx.ts";
export type { OnnxCallOptions, OnnxInput, OnnxInputs, OnnxModel, OnnxValue } from "./model.ts";
export type { OnnxOutput, OnnxOutputs } from "./variant.ts";
export type { VariableMaker } from "./edit/edits.ts";
export type { NamePattern } from "./edit/patterns.ts";
export type { OnnxScript } from "./scripts.ts";
export type { ExternalData } from "./file/external_data.ts";
export type { ReadOptions } from "./file/read_model.ts";
export type { FileSource } from "../library/io/source.ts";
export type * from "../engine/types.ts";

// Run as a program it is the command.
if (import.meta.main) void import("./main.ts").then(({ runCommand }) => runCommand());
