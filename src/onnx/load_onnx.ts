/** loadOnnx: loads a model of ONNX as a graph of Weft's. */
import { optionCheck } from "../engine/core/arguments.ts";
import type { FileSource } from "../library/io/source.ts";
import type { ExternalData } from "./file/external_data.ts";
import type { OnnxModel } from "./model.ts";
import { openModel } from "./open_model.ts";
import { type OnnxScript, scriptRules } from "./scripts.ts";

/** Options of {@linkcode loadOnnx}. */
export interface LoadOnnxOptions {
  /** Source of tensors in other files. Default: files in the model's folder. */
  readonly externalData?: ExternalData;
  /** Receives the progress of a download, from 0 to 1. */
  readonly onProgress?: (fraction: number) => void;
  /** Ends loading, which then rejects with its reason. */
  readonly signal?: AbortSignal;
  /** Functions for ops by name, such as `acme:Nms`: for unsupported ops, or instead of Weft's. */
  readonly scripts?: Readonly<Record<string, OnnxScript>>;
  /**
   * Extents by their names in the file, such as `{ batch: 1 }`: more known extents let more be computed while loading.
   */
  readonly dimensions?: Readonly<Record<string, number>>;
  /** False makes weights constants, without variables. Default true. */
  readonly trainable?: boolean;
}

const checkOptions = optionCheck<LoadOnnxOptions>("loadOnnx", {
  externalData: true,
  onProgress: true,
  signal: true,
  scripts: true,
  dimensions: true,
  trainable: true,
});

/**
 * Loads a model of ONNX from a path, a URL, bytes or a stream. Its ops become Weft's, so that it is fused, placed and
 * differentiated as any graph. Floating-point initialisers are variables, except scalars and arguments such as scales.
 * Rejects with `DataLossError` for an invalid model, `NotFoundError` for missing files, `UnimplementedError` that names
 * all unsupported ops, `ValueError` for options that do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { loadOnnx } from "@weft/weft/onnx";
 * // y = MatMul(x, w), as a file of ONNX has it
 * const file = "CAoSADpXChEKAXgKAXcSAXkiBk1hdE11bBIBZyoTCAIIARABQgF3SggAAABAAABAQFoUCgF4Eg8KDQgBEgkKAxIBbgoCCAJiFAoBeRIPCg0IARIJCgMSAW4KAggBQgQKABAV";
 * const model = await loadOnnx(Uint8Array.from(atob(file), (c) => c.charCodeAt(0)));
 * const { y } = await model.run({ x: [[1, 1], [1, 2]] });
 * console.log(await (y as tf.Tensor).array()); // [[5], [8]]
 *
 * // It is trained as any function is.
 * const loss = () => tf.sum(model.call({ x: [[1, 1]] }).y as tf.Tensor);
 * tf.train.sgd(1).minimize(loss);
 * console.log(await model.variables.w.array()); // [[1], [2]]
 * ```
 */
export async function loadOnnx(
  source: FileSource,
  options: LoadOnnxOptions = {},
): Promise<OnnxModel> {
  checkOptions(options);
  const { scripts = {}, ...rest } = options;
  return await openModel(source, { ...rest, rules: (graph) => scriptRules(scripts, graph) });
}
