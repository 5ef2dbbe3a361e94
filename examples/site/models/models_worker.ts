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

function tensorsOf({ inputs }: Loaded, feeds: Readonly<Record<string, Elements>>) {
  return Object.fromEntries(
    inputs.map(({ name, dtype }) => [name, tensorOf(feeds[name]!, dtype as tf.DType)]),
  );
}

async function run({ feeds }: ModelsRequest & { kind: "run" }): Promise<void> {
  if (model === null) return;
  const loaded = model, given = tensorsOf(loaded, feeds);
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

/** Runs the model, and tells of its plans and of what ran when. */
async function see({ feeds }: ModelsRequest & { kind: "see" }): Promise<void> {
  if (model === null) return;
  const loaded = model, given = tensorsOf(loaded, feeds);
  const { PlanWatch } = await import("../plans.ts");
  const { TimelineWatch } = await import("../timeline_watch.ts");
  const watch = new PlanWatch(), time = new TimelineWatch();
  time.start();
  const began = performance.now();
  const { cpuKernels, dispatches, readbacks, hostCalls } = await tf.profile(async () => {
    const made = await loaded.run(given);
    await Promise.all(Object.entries(made).map((one) => resultOf(...one)));
    for (const t of Object.values(made)) t.dispose();
  });
  const milliseconds = performance.now() - began;
  for (const t of Object.values(given)) t.dispose();
  scope.postMessage({
    kind: "seen",
    milliseconds,
    backend: tf.getBackend(),
    counts: { cpuKernels, dispatches, readbacks, hostCalls },
    plans: watch.plans(),
    timeline: await time.timeline(),
  });
}

function answer(request: ModelsRequest): Promise<void> {
  switch (request.kind) {
    case "load":
      return load(request);
    case "run":
      return run(request);
    case "see":
      return see(request);
  }
}

scope.onmessage = ({ data }) => {
  ready = ready.then(() => answer(data)).catch((error) => {
    scope.postMessage({ kind: "failed", error: errorText(error) });
  });
};
