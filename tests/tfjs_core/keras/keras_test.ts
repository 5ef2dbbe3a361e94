/** Models that Keras 3 has saved predict what they did there, and train as they did there. */

import * as tf from "@weft/weft/tfjs-core";
import { loadKeras, registerKerasLayers } from "@weft/weft/keras";
import { assert, assertEquals } from "@std/assert";
import { testOnDevices } from "../../devices.ts";
import { openHdf5 } from "../../../src/tfjs/keras/hdf5.ts";
import { effort } from "../../effort.ts";
import type { Any } from "../../script/helpers.ts";
import { tfjsPackages } from "../../../tools/tfjs_packages.ts";

const { tfl } = await tfjsPackages();

/** Content of a fixture beside its files. */
interface Told {
  readonly inputs: {
    dtype: "float32" | "int32" | "string";
    shape: number[];
    values: number[] | string[];
  }[];
  readonly shape: number[];
  readonly predicted: number[];
  readonly target: number[];
  readonly losses: number[];
  readonly after: number[];
}

/** Models, and whether their batch normalizations keep another variance than Keras' (Bessel's correction). */
const NAMES: readonly (readonly [name: string, corrects?: boolean])[] = [
  ["mlp", true],
  ["unbuilt"],
  ["cnn", true],
  ["branches"],
  ["nested"],
  ["recurrent"],
  ["seq2seq"],
  ["transformer"],
  ["masked"],
  ["crossed"],
  ["activations"],
  ["operations"],
  ["normalized"],
  ["attended"],
  ["grouped"],
  ["spatial"],
  ["augmented"],
  ["encoded"],
  ["texts"],
  ["learned"],
  ["sentences"],
  ["adaptive"],
  ["grouped_convolutions"],
  ["spectral"],
  ["sounds"],
  ["volumes"],
  ["crossings"],
  ["pipelines"],
  ["reversible"],
  ["simple"],
  ["planes"],
  ["solids"],
  ["framed"],
];
/** Models whose vocabularies lie in files of an archive, which `.h5` files have not, and those with weights in pipelines. */
const ARCHIVES = ["learned", "sentences", "pipelines"];

const at = (file: string): URL => new URL(`fixtures/${file}`, import.meta.url);

async function bytesOf(name: string, kind: "keras" | "h5"): Promise<Uint8Array> {
  if (kind === "keras") return await Deno.readFile(at(`${name}.keras`));
  const file = await Deno.open(at(`${name}.h5.gz`));
  const plain = file.readable.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

const first = (value: Any): tf.Tensor => Array.isArray(value) ? value[0] : value;

/** Runs what makes tensors, and frees them. */
async function scoped(work: () => Promise<void>): Promise<void> {
  tf.engine().startScope("test");
  try {
    await work();
  } finally {
    tf.engine().endScope();
    tf.disposeVariables();
  }
}

async function toldOf(name: string): Promise<{ told: Told; given: tf.Tensor | tf.Tensor[] }> {
  const told: Told = JSON.parse(await Deno.readTextFile(at(`${name}.json`)));
  const inputs = told.inputs.map(({ values, shape, dtype }) => tf.tensor(values, shape, dtype));
  return { told, given: inputs.length === 1 ? inputs[0] : inputs };
}

async function close(found: tf.Tensor, wanted: number[], tolerance: number): Promise<void> {
  tf.test_util.expectArraysClose(await found.data() as Float32Array, wanted, tolerance);
}

for (const [name, corrects = false] of NAMES) {
  testOnDevices(
    `loadKeras() makes ${name}.keras predict and train as Keras does`,
    (device) =>
      scoped(async () => {
        const { told, given } = await toldOf(name);
        const model = await loadKeras<Any>(tfl, await bytesOf(name, "keras"));
        await close(first(model.predict(given)), told.predicted, 1e-4);
        model.compile({ optimizer: tf.train.sgd(0.05), loss: "meanSquaredError" });
        // Long unrolled gradients compile slowly without a GPU.
        const epochs = device === "webgpu" ? effort(2, 10) : 10;
        // Other numbers are drawn here than in Keras.
        const isRandom = name === "augmented";
        const { history } = await model.fit(given, tf.tensor(told.target, told.shape), {
          epochs,
          batchSize: 64,
          shuffle: false,
          verbose: 0,
        });
        if (isRandom) return assert(history.loss.every(Number.isFinite));
        tf.test_util.expectArraysClose(history.loss, told.losses.slice(0, epochs), 1e-3);
        assert(history.loss.at(-1) < history.loss[0]);
        if (epochs === 10 && !corrects) await close(first(model.predict(given)), told.after, 1e-3);
      }),
  );

  if (ARCHIVES.includes(name)) continue;
  testOnDevices(`loadKeras() makes ${name}.h5 predict as Keras does`, () =>
    scoped(async () => {
      const { told, given } = await toldOf(name);
      const model = await loadKeras<Any>(tfl, await bytesOf(name, "h5"));
      await close(first(model.predict(given)), told.predicted, 1e-4);
    }));

  // Cells of stacked ones have other names in the package, and two of its layers may not have one name.
  if (["recurrent"].includes(name)) continue;
  Deno.test(`a model.json of ${name} by Keras 3 loads over the entry`, () =>
    scoped(async () => {
      await tf.setBackend("cpu");
      registerKerasLayers(tfl);
      const { told, given } = await toldOf(name);
      const model = await tfl.loadLayersModel(
        tf.io.fromMemory(converted(await bytesOf(name, "h5"))),
      );
      await close(first(model.predict(given)), told.predicted, 1e-4);
    }));
}

/** Does as TensorFlow.js's converter with a `.h5` file of Keras 3. */
function converted(bytes: Uint8Array): tf.io.ModelArtifacts {
  const file = openHdf5(bytes), all = file.get("model_weights")!;
  const weightSpecs: tf.io.WeightsManifestEntry[] = [], parts: ArrayBuffer[] = [];
  for (const layer of all.texts("layer_names")!) {
    for (const name of all.get(layer)!.texts("weight_names") ?? []) {
      const array = all.get(layer)!.get(name)!.array();
      const data = Float32Array.from(array.data as Float32Array, Number);
      weightSpecs.push({ name, shape: [...array.shape], dtype: "float32" });
      parts.push(data.buffer);
    }
  }
  const [config, version] = ["model_config", "keras_version"].map((name) => file.texts(name)![0]);
  return {
    modelTopology: {
      keras_version: version,
      backend: "tensorflow",
      model_config: JSON.parse(config),
    },
    weightSpecs,
    weightData: parts,
  };
}

Deno.test("a model that loadKeras() made is saved and loaded by tfjs-layers", () =>
  scoped(async () => {
    await tf.setBackend("cpu");
    const { told, given } = await toldOf("transformer");
    const model = await loadKeras<Any>(tfl, await bytesOf("transformer", "keras"));
    const saved: Any = {};
    await model.save(tf.io.withSaveHandler((artifacts: Any) => {
      Object.assign(saved, artifacts);
      return Promise.resolve({ modelArtifactsInfo: tf.io.getModelArtifactsInfoForJSON(artifacts) });
    }));
    const again = await tfl.loadLayersModel(tf.io.fromMemory(saved));
    await close(first(again.predict(given)), told.predicted, 1e-4);
    assertEquals(again.weights.length, model.weights.length);
  }));
