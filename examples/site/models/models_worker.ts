/** Loads the models that the page was given, and runs them. */

import * as tf from "@weft/weft";
import type { WorkerScope } from "../messages.ts";
import { type Loaded, loadModel } from "./models_loaded.ts";
import type { Elements, ModelResult, ModelsMessage, ModelsRequest } from "./models_messages.ts";
import { errorText } from "../shown.ts";

const scope = globalThis as unknown as WorkerScope<ModelsRequest, ModelsMessage>;

/** Elements of a result that are sent: those of a picture of 1024 by 1024 points. */
const MOST = 3 * 1024 * 1024;

let model: Loaded | null = null;
let ready: Promise<void> = Promise.resolve();

async function load({ backend, files }: ModelsRequest & { kind: "load" }): Promise<void> {
  model?.dispose();
  model = null;
  const onGpu = await tf.setBackend(backend) && backend === "webgpu";
  if (!onGpu) await tf.setBackend("cpu");
  const began = performance.now();
  model = await loadModel(files);
  scope.postMessage({
    kind: "loaded",
    about: `${model.form}, on ${onGpu ? "WebGPU" : "the CPU"}`,
    ms: performance.now() - began,
    inputs: model.inputs.map(({ name, dtype, shape }) => ({ name, dtype, shape })),
  });
}

function tensorOf({ shape, values }: Elements, dtype: tf.DType): tf.Tensor {
  if (dtype === "string") return tf.tensor(values as string[], [...shape], "string");
  const numbers = tf.tensor(Float64Array.from(values as number[]), [...shape], "float64");
  return dtype === "float64" ? numbers : tf.cast(numbers, dtype);
}

async function resultOf(name: string, tensor: tf.Tensor): Promise<ModelResult> {
  const { dtype, shape } = tensor, array = await tensor.ndarray();
  const count = Math.min(array.size, MOST);
  const at = (i: number): unknown => array.at(i);
  const values = dtype === "string"
    ? Array.from(
      { length: Math.min(count, 100) },
      (_, i) => new TextDecoder().decode(at(i) as Uint8Array),
    )
    : Float32Array.from({ length: count }, (_, i) => Number(at(i)));
  return { name, dtype, shape: shape as number[], values };
}

async function run({ feeds }: ModelsRequest & { kind: "run" }): Promise<void> {
  if (model === null) return;
  const { inputs } = model, loaded = model;
  const given = Object.fromEntries(
    inputs.map(({ name, dtype }) => [name, tensorOf(feeds[name]!, dtype as tf.DType)]),
  );
  const began = performance.now();
  // A result of a GPU is there when it was read.
  const { result, table } = await tf.trace(async () => {
    const made = await loaded.run(given);
    const results = await Promise.all(Object.entries(made).map((one) => resultOf(...one)));
    for (const t of Object.values(made)) t.dispose();
    return { results, ms: performance.now() - began };
  });
  for (const t of Object.values(given)) t.dispose();
  scope.postMessage({ kind: "ran", ...result, table: table() });
}

scope.onmessage = ({ data }) => {
  ready = ready.then(() => data.kind === "load" ? load(data) : run(data)).catch((error) => {
    scope.postMessage({ kind: "failed", error: errorText(error) });
  });
};
