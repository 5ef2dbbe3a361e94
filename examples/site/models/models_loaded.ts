/** Models of three forms, as one: ONNX, SavedModel, GraphModel. Readers are loaded when they are needed. */

import * as tf from "@weft/weft";
import type { OnnxOutput } from "@weft/weft/onnx";
import type { ModelFile, ModelValue } from "./models_messages.ts";

/** A model that was loaded. */
export interface Loaded {
  readonly form: string;
  readonly inputs: readonly ModelValue[];
  run(feeds: Readonly<Record<string, tf.Tensor>>): Promise<Record<string, tf.Tensor>>;
  dispose(): void;
}

/** The address of files that were dropped: readers take URLs, and nothing is requested. */
const DROPPED = new URL("/dropped/", self.location.href).href;

/** Gives readers the files in the place of a server, until the model is there. */
async function withFiles<T>(files: readonly ModelFile[], read: () => Promise<T>): Promise<T> {
  const { fetch } = globalThis, found = new Map(files.map(({ path, bytes }) => [path, bytes]));
  globalThis.fetch = (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (!url.startsWith(DROPPED)) return fetch(input, init);
    const bytes = found.get(decodeURIComponent(url.slice(DROPPED.length)));
    return Promise.resolve(
      bytes === undefined ? new Response(null, { status: 404 }) : new Response(bytes),
    );
  };
  try {
    return await read();
  } finally {
    globalThis.fetch = fetch;
  }
}

/** Takes away the folder that all paths share. */
function within(files: readonly ModelFile[], folder: string): ModelFile[] {
  return files.filter(({ path }) => path.startsWith(folder)).map(({ path, bytes }) => ({
    path: path.slice(folder.length),
    bytes,
  }));
}

const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/") + 1);

/** Loads a model of files; of none, the example. Rejects with `Error` where none of them is a model. */
export async function loadModel(files: readonly ModelFile[]): Promise<Loaded> {
  if (files.length === 0) return await example();
  const named = (ending: string): ModelFile | undefined =>
    files.find(({ path }) => path.endsWith(ending));
  const onnx = named(".onnx"), saved = named("saved_model.pb"), json = named(".json");
  const model = onnx ?? saved ?? json;
  if (model === undefined) {
    throw new Error("None of these files is a model: wanted .onnx, saved_model.pb or model.json");
  }
  const folder = folderOf(model.path), name = model.path.slice(folder.length);
  const open = onnx ? openOnnx : saved ? openSavedModel : openGraphModel;
  return await withFiles(within(files, folder), () => open(name));
}

async function openOnnx(file: string | Uint8Array): Promise<Loaded> {
  const { loadOnnx } = await import("@weft/weft/onnx");
  const model = await loadOnnx(
    typeof file === "string" ? DROPPED + encodeURIComponent(file) : file,
  );
  return {
    form: "ONNX",
    inputs: model.inputs,
    async run(feeds) {
      const results = await model.run<OnnxOutput>(feeds), out: Record<string, tf.Tensor> = {};
      for (const [name, value] of Object.entries(results)) {
        if (value instanceof tf.Tensor) out[name] = value;
        else (value ?? []).forEach((item, i) => out[`${name}[${i}]`] = item as tf.Tensor);
      }
      return out;
    },
    dispose: () => model.dispose(),
  };
}

async function openSavedModel(): Promise<Loaded> {
  await import("./models_ops.ts");
  const { loadSavedModel } = await import("@weft/weft/tf");
  const model = await loadSavedModel(DROPPED.slice(0, -1));
  const [name] = Object.keys(model.signatures);
  if (name === undefined) throw new Error("The SavedModel has no signature");
  const signature = model.signatures["serving_default"] ?? model.signatures[name]!;
  return {
    form: "SavedModel",
    inputs: Object.entries(signature.inputs).map(([name, { dtype, shape }]) => ({
      ...{ name, dtype, shape },
    })),
    run: (feeds) => signature(feeds),
    dispose: () => model.dispose(),
  };
}

async function openGraphModel(name: string): Promise<Loaded> {
  await import("./models_ops.ts");
  const model = await tf.loadGraphModel(DROPPED + encodeURIComponent(name));
  return {
    form: "GraphModel",
    inputs: model.inputs.map(({ name, dtype, shape }) => ({ name, dtype, shape: shape ?? null })),
    async run(feeds) {
      const made = await model.executeAsync(feeds);
      const list = made instanceof tf.Tensor ? [made] : made;
      return Object.fromEntries(list.map((t, i) => [model.outputs[i]?.name ?? `output ${i}`, t]));
    },
    dispose: () => model.dispose(),
  };
}

/** A model of ONNX that finds edges: a function of Weft's, written as a file and read again. */
async function example(): Promise<Loaded> {
  const { encodeOnnx } = await import("@weft/weft/onnx");
  const filter = tf.tensor([-1, -1, -1, -1, 8, -1, -1, -1, -1], [3, 3, 1, 1]);
  const edges = tf.function((image: tf.Tensor) => {
    const grey = tf.mean(image, -1, true);
    return { edges: tf.relu(tf.conv2d(grey, filter, 1, "same")) };
  }, { inputSignature: [new tf.TensorSpec([1, 192, 256, 3], "float32", "image")] });
  return await openOnnx(encodeOnnx(edges));
}
