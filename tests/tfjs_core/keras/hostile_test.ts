/** Keras' files that are damaged, cut short or made to harm: typed errors, in bounded time. */

import * as tf from "@weft/weft/tfjs-core";
import { layersTopology, loadKeras, registerKerasLayers } from "@weft/weft/keras";
import { assert, assertRejects, assertThrows } from "@std/assert";
import { uniform } from "../../../bench/random.ts";
import { type Hdf5Node, openHdf5 } from "../../../src/tfjs/keras/hdf5.ts";
import { effort } from "../../effort.ts";
import type { Any } from "../../script/helpers.ts";
import { tfjsPackages } from "../../../tools/tfjs_packages.ts";
import { errors } from "@weft/weft";

const { tfl } = await tfjsPackages();
await tf.setBackend("cpu");

const at = (file: string): URL => new URL(`fixtures/${file}`, import.meta.url);
const { DataLossError, UnimplementedError, ValueError } = errors;

async function legacy(name: string): Promise<Uint8Array> {
  const file = await Deno.open(at(`${name}.h5.gz`));
  const plain = file.readable.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

/** Reads everything of a file. */
function readAll(node: Hdf5Node): void {
  node.texts("weight_names");
  node.texts("model_config");
  if (node.isArray) return void node.array();
  for (const name of node.names()) readAll(node.get(name)!);
}

const isTyped = (error: unknown): boolean =>
  error instanceof errors.OpError || error instanceof ValueError;

Deno.test("openHdf5() throws typed errors for files with changed bytes", async () => {
  const next = uniform(7);
  for (const name of ["mlp", "branches"]) {
    const whole = await legacy(name);
    for (let i = 0; i < effort(150, 4000); i++) {
      const bytes = whole.slice(0, next() < 0.2 ? Math.floor(next() * whole.length) : undefined);
      for (let k = 0; k < 8; k++) {
        bytes[Math.floor(next() * bytes.length)] = next() < 0.5 ? 255 : 256 * next();
      }
      try {
        readAll(openHdf5(bytes));
      } catch (error) {
        assert(isTyped(error), `${name}, ${i}: ${(error as Error)?.stack}`);
      }
    }
  }
});

Deno.test("openHdf5() refuses groups that lead to themselves, and arrays beyond the file", async () => {
  const bytes = await legacy("unbuilt"), text = new TextDecoder("latin1").decode(bytes);
  const view = new DataView(bytes.buffer);
  const tree = text.indexOf("TREE"), child = tree + 24 + 8;
  const kept = view.getBigUint64(child, true);
  view.setBigUint64(child, BigInt(tree), true);
  assertThrows(() => readAll(openHdf5(bytes)), DataLossError, "lead to themselves");
  view.setBigUint64(child, kept, true);
  // A group's only member becomes the group itself.
  const nodes = text.indexOf("SNOD");
  view.setBigUint64(nodes + 8 + 8, view.getBigUint64(64, true), true);
  assertThrows(() => readAll(openHdf5(bytes)), DataLossError, "deep");
  assertThrows(() => openHdf5(new Uint8Array(100)), DataLossError, "does not begin");
  assertThrows(() => openHdf5("x" as Any), TypeError, "Uint8Array");
});

const layer = (name: string, class_name: string, config: object = {}, inbound: unknown[] = []) => ({
  module: "keras.layers",
  class_name,
  name,
  config: { name, trainable: true, dtype: "float32", ...config },
  inbound_nodes: inbound,
});
const tensor = (...keras_history: unknown[]) => ({
  class_name: "__keras_tensor__",
  config: { shape: [null, 4], dtype: "float32", keras_history },
});
const call = (...args: unknown[]) => [{ args, kwargs: {} }];
const input = layer("x", "InputLayer", { batch_shape: [null, 4] });
const model = (layers: unknown, rest: object = {}) => ({
  module: "keras",
  class_name: "Functional",
  registered_name: "Functional",
  config: { name: "m", layers, input_layers: ["x", 0, 0], output_layers: ["y", 0, 0], ...rest },
});
let nested: Any = layer("y", "Dense", { units: 1 });
for (let i = 0; i < 100; i++) nested = layer("y", "TimeDistributed", { layer: nested });

/** Configurations that no model has, and what is thrown. */
const CONFIGS: Readonly<Record<string, readonly [config: unknown, error: Any, text: string]>> = {
  "no class": [{ registered_name: null, config: {} }, ValueError, "no class_name"],
  "no layers": [model(undefined), ValueError, "has no layers"],
  "a layer that is a number": [model([input, 3]), ValueError, "no object"],
  "a cycle": [
    model([
      input,
      layer("y", "Dense", { units: 1 }, call(tensor("z", 0, 0))),
      layer("z", "Dense", { units: 1 }, call(tensor("y", 0, 0))),
    ]),
    ValueError,
    "that no layer makes",
  ],
  "a layer called with itself": [
    model([input, layer("y", "Dense", { units: 1 }, call(tensor("y", 0, 0)))]),
    ValueError,
    "that no layer makes",
  ],
  "a negative node": [
    model([input, layer("y", "Dense", { units: 1 }, call(tensor("x", -1, 0)))]),
    ValueError,
    "that no layer makes",
  ],
  "an output that is missing": [model([input]), ValueError, "is not there"],
  "no outputs": [
    model([input], { output_layers: null }),
    ValueError,
    "input_layers and output_layers",
  ],
  "one name for two layers": [model([input, input]), ValueError, "two layers"],
  "deep nesting": [model([input, nested]), ValueError, "nested more than"],
  "a history that is none": [
    model([
      input,
      layer("y", "Dense", { units: 1 }, call({ class_name: "__keras_tensor__", config: {} })),
    ]),
    ValueError,
    "keras_history",
  ],
  "Python code": [
    model([input, layer("y", "Lambda", {}, call(tensor("x", 0, 0)))]),
    UnimplementedError,
    "Lambda",
  ],
};

for (const [name, [config, error, text]] of Object.entries(CONFIGS)) {
  Deno.test(`layersTopology() refuses ${name}`, () => {
    assertThrows(() => layersTopology(config), error, text);
  });
}

Deno.test("a model with an operation that is not known is refused by its name", async () => {
  registerKerasLayers(tfl);
  const unknown = {
    ...layer("y", "Erfinv", {}, call(tensor("x", 0, 0))),
    module: "keras.src.ops.math",
  };
  await assertRejects(
    () => tfl.loadLayersModel(tf.io.fromMemory({ modelTopology: model([input, unknown]) as Any })),
    UnimplementedError,
    "Erfinv",
  );
});

Deno.test("loadKeras() rejects archives without parts, and weights that do not fit", async () => {
  const bytes = await Deno.readFile(at("unbuilt.keras"));
  const zip = (config: unknown, weights?: Uint8Array) =>
    stored({
      "config.json": new TextEncoder().encode(
        typeof config === "string" ? config : JSON.stringify(config),
      ),
      ...(weights ? { "model.weights.h5": weights } : {}),
    });
  await assertRejects(() => loadKeras(tfl, stored({})), DataLossError, "config.json");
  await assertRejects(() => loadKeras(tfl, zip("{")), UnimplementedError, "model.weights.h5");
  await assertRejects(() => loadKeras(tfl, zip("{", new Uint8Array(9))), DataLossError, "no JSON");
  await assertRejects(
    () => loadKeras(tfl, zip("[]", new Uint8Array(9))),
    DataLossError,
    "no object",
  );
  await assertRejects(() => loadKeras(tfl, bytes.slice(0, 900)), DataLossError);
  await assertRejects(() => loadKeras(tfl, at("missing.keras")), errors.NotFoundError);
  await assertRejects(() => loadKeras({} as Any, bytes), TypeError, "tfl must be");
  const weights = await weightsOf(bytes);
  const other = model([input, layer("y", "Dense", { units: 9 }, call(tensor("x", 0, 0)))]);
  await assertRejects(
    () => loadKeras(tfl, zip(other, weights)),
    ValueError,
    'weights of layer "y"',
  );
});

Deno.test("loadKeras() rejects a .h5 file of weights alone", async () => {
  await assertRejects(
    () => weightsOf(Deno.readFileSync(at("mlp.keras"))).then((w) => loadKeras(tfl, w)),
    ValueError,
    "model_config",
  );
});

/** Reads the weights of an archive of Keras as it stores it. */
async function weightsOf(archive: Uint8Array): Promise<Uint8Array> {
  const { readZip } = await import("../../../src/library/io/zip.ts");
  for await (const [name, data] of readZip(archive)) if (name === "model.weights.h5") return data;
  throw new Error("The fixture has no weights");
}

const { writeZip } = await import("../../../src/library/io/zip.ts");
const stored = (files: Record<string, Uint8Array>): Uint8Array => writeZip(Object.entries(files));
