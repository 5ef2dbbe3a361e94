/** loadGraphModel: TensorFlow.js's graph models. Its code is loaded by the first call. */
import { wantObject } from "../../engine/core/arguments.ts";
import type { ModelOptions, ModelSource } from "./artifacts.ts";
import type { GraphModel } from "./graph_model.ts";

export type {
  ModelArtifacts,
  ModelHandler,
  ModelOptions,
  ModelSignature,
  ModelSource,
  SignatureInfo,
} from "./artifacts.ts";
export type { GraphModel, ModelInputs, ModelOutputs, ModelTensor } from "./graph_model.ts";
export type { Quantization, WeightSpec } from "./weights.ts";

/**
 * Loads a graph model of TensorFlow.js: the path or URL of its `model.json`, or a handler (an object with `load()`, as
 * TensorFlow.js's IOHandlers are). Weights stored as uint8, uint16 or float16 are read as float32; 64-bit integers
 * become int32, as there. The model is a graph of Weft's: fused, placed, differentiable. Follows TensorFlow.js
 * `loadGraphModel`. Rejects with `NotFoundError` for files and ops that are missing, `DataLossError` for files that are
 * no model.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const model = await tf.loadGraphModel({
 *   modelTopology: {
 *     node: [
 *       { name: "x", op: "Placeholder", attr: { dtype: { type: "DT_FLOAT" }, shape: { shape: { dim: [{ size: "-1" }] } } } },
 *       { name: "w", op: "Const", attr: { dtype: { type: "DT_FLOAT" } } },
 *       { name: "y", op: "Mul", input: ["x", "w"], attr: { T: { type: "DT_FLOAT" } } },
 *     ],
 *   },
 *   weightSpecs: [{ name: "w", shape: [], dtype: "float32" }],
 *   weightData: new Float32Array([3]).buffer,
 * });
 * console.log((model.predict(tf.tensor([1, 2])) as tf.Tensor).arraySync()); // [3, 6]
 * ```
 */
export async function loadGraphModel(
  source: ModelSource,
  options: ModelOptions = {},
): Promise<GraphModel> {
  wantObject(options, "options", "loadGraphModel");
  const { readGraphModel } = await import("./graph_model.ts");
  return await readGraphModel(source, options);
}
