/** Models that Keras 3 has saved predict what they did there, and train as they did there. */

import * as tf from "@weft/weft/tfjs-core";
import { loadKeras } from "@weft/weft/keras";
import { assert } from "@std/assert";
import { testOnDevices } from "../../devices.ts";
import type { Any } from "../../script/helpers.ts";
import { tfjsPackages } from "../../../tools/tfjs_packages.ts";

const { tfl } = await tfjsPackages();

/** What a fixture holds beside its files. */
interface Told {
  readonly inputs: { dtype: "float32" | "int32"; shape: number[]; values: number[] }[];
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
  ["activations"],
  ["operations"],
  ["normalized"],
];

const at = (file: string): URL => new URL(`fixtures/${file}`, import.meta.url);

async function bytesOf(name: string, kind: "keras" | "h5"): Promise<Uint8Array> {
  if (kind === "keras") return await Deno.readFile(at(`${name}.keras`));
  const file = await Deno.open(at(`${name}.h5.gz`));
  const plain = file.readable.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

const first = (value: Any): tf.Tensor => Array.isArray(value) ? value[0] : value;

for (const [name, corrects = false] of NAMES) {
  for (const kind of ["keras", "h5"] as const) {
    testOnDevices(`loadKeras() makes ${name}.${kind} predict and train as Keras does`, async () => {
      const told: Told = JSON.parse(await Deno.readTextFile(at(`${name}.json`)));
      tf.engine().startScope("test");
      const model = await loadKeras<Any>(tfl, await bytesOf(name, kind));
      const inputs = told.inputs.map(({ values, shape, dtype }) => tf.tensor(values, shape, dtype));
      const given = inputs.length === 1 ? inputs[0] : inputs;
      const close = async (found: tf.Tensor, wanted: number[], tolerance: number) =>
        tf.test_util.expectArraysClose(await found.data() as Float32Array, wanted, tolerance);
      await close(first(model.predict(given)), told.predicted, 1e-4);
      model.compile({ optimizer: tf.train.sgd(0.05), loss: "meanSquaredError" });
      const target = tf.tensor(told.target, told.shape);
      const { history } = await model.fit(given, target, {
        epochs: 10,
        batchSize: 64,
        shuffle: false,
        verbose: 0,
      });
      tf.test_util.expectArraysClose(history.loss, told.losses, 1e-3);
      assert(history.loss.at(-1) < history.loss[0]);
      if (!corrects) await close(first(model.predict(given)), told.after, 1e-3);
      tf.engine().endScope();
      tf.disposeVariables();
    });
  }
}
