/** Converts models between ONNX and TensorFlow's forms: a GraphDef, a SavedModel, a model of TensorFlow.js. */
import { ValueError } from "../engine/core/errors.ts";
import type { Tensor } from "../engine/core/tensor.ts";
import { TensorSpec } from "../engine/core/tensor_spec.ts";
import { tfFunction } from "../engine/runtime/functions/function.ts";
import { writeBytes } from "../library/io/file_writer.ts";
import { freezeModel, frozenFunction } from "../tensorflow/files/convert.ts";
import { encodeGraphDef } from "../tensorflow/files/graph_def.ts";
import { saveModel } from "../tensorflow/files/save_model.ts";
import { encodeOnnxAsync } from "./encode_onnx.ts";
import { loadOnnx } from "./load_onnx.ts";

/**
 * Writes a model by the ending of the file's name: `….onnx` is a file of ONNX, of whatever form `from` is, `….pb` a GraphDef
 * with its weights as constants, a name without an ending the folder of a SavedModel with variables. Rejects with `ValueError` for other names and for inputs that are no tensors,
 * and with the errors of reading and writing.
 */
export async function convertOnnx(from: string, to: string): Promise<void> {
  const ending = /\.[^./\\]*$/.exec(to)?.[0] ?? "";
  if (ending === ".onnx") {
    const model = from.endsWith(".onnx")
      ? await loadOnnx(from)
      : frozenFunction(await freezeModel(from));
    return await writeBytes(to, await encodeOnnxAsync(model) as Uint8Array, { makeFolder: true });
  }
  if (ending !== "" && ending !== ".pb") {
    throw new ValueError(
      `Cannot convert to ${to}: wanted FILE.onnx, FILE.pb or the name of a folder`,
    );
  }
  const model = await loadOnnx(from, { trainable: ending === "" });
  const specs = model.inputs.map(({ name, dtype, shape, kind }) => {
    if (kind === "tensor") return TensorSpec(shape, dtype, plainName(name));
    throw new ValueError(`Cannot convert ${from}: its input "${name}" is no tensor but a ${kind}`);
  });
  const f = tfFunction((...xs: Tensor[]) => {
    const feeds = Object.fromEntries(model.inputs.map(({ name }, i) => [name, xs[i]]));
    const outputs = Object.entries(model.call(feeds));
    return Object.fromEntries(outputs.map(([name, y]) => [plainName(name), y as Tensor]));
  }, { inputSignature: specs });
  if (ending === "") return await saveModel(to, { signatures: { serving_default: f } });
  const { graph } = f.getConcreteFunction();
  await writeBytes(to, encodeGraphDef(graph.toGraphDef()), { makeFolder: true });
}

/** Returns a name that TensorFlow takes. */
function plainName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_.\\/-]/g, "_").replace(/^[^A-Za-z0-9.]/, "n$&");
}
