/** Kinds of files that the library writes, each with a number in it. */

import * as tf from "@weft/weft";
import { loadOnnx } from "@weft/weft/onnx";
import { loadSavedModel, saveModel } from "@weft/weft/tf";
import * as tfc from "@weft/weft/tfjs-core";
import { assertEquals } from "@std/assert";
import { convertOnnx } from "../../src/onnx/convert.ts";
import { convertModel } from "../../src/tensorflow/files/convert.ts";

/** The numbers that are written. */
export const VALUES: readonly number[] = [1, 2, 3];

/** Writes a number to a path, and reads it again. */
export interface Kind {
  readonly write: (path: string, value: number) => Promise<unknown>;
  readonly read: (path: string) => Promise<number>;
}

export const variables: Kind = {
  async write(path, value) {
    using w = tf.variable(tf.fill([100], value));
    await tf.io.saveVariables(path, { w });
  },
  async read(path) {
    using w = tf.variable(tf.zeros([100]));
    await tf.io.loadVariables(path, { w });
    return w.dataSync()[99];
  },
};

export const records = (compression: "" | "GZIP"): Kind => ({
  async write(path, value) {
    const writer = new tf.io.TFRecordWriter(path, { compression });
    await writer.write("first");
    await writer.flush();
    await writer.write(String(value));
    await writer.close();
  },
  async read(path) {
    const [, last] = await Array.fromAsync(
      tf.data.tfrecord(path, { compression }).asNumpyIterator(),
      (x) => x.text(),
    );
    return Number(last);
  },
});

const elements = async (dataset: tf.data.Dataset<tf.Tensor>): Promise<number> =>
  Number((await Array.fromAsync(dataset.asNumpyIterator(), (x) => x.item()))[0]);

/** A folder of models to convert, which the disk keeps: a file that fails is one of the converter's. */
let models = "";

/** Converts models of this folder, which {@linkcode makeModels} has filled. */
export function useModels(folder: string): void {
  models = folder;
}

/** Writes the models that are converted into a folder. */
export async function makeModels(folder: string): Promise<void> {
  useModels(folder);
  for (const value of VALUES) await writeModel(`${folder}/${value}`, value);
}

/** Converts a model of {@linkcode models}. */
const writeConverted: Kind["write"] = (path, value) => convertModel(`${models}/${value}`, path);

/** The model x ↦ x + value, with a variable of that value. */
async function writeModel(folder: string, value: number): Promise<void> {
  // The file of variables is found by their names, which two saves of a model have alike.
  using w = tf.variable(value, true, "saved_model_w");
  const f = tf.function((x: tf.Tensor) => ({ y: tf.add(x, w) }), {
    inputSignature: [tf.TensorSpec([], "float32", "x")],
  });
  await saveModel(folder, { signatures: { serving_default: f } });
}

/** Numbers from a value on, kept in a file of their folder that has the value as its name. */
const cached = (path: string, value: number, from = value) =>
  tf.data.range(from, from + 3).cache(`${path}/${value}`);

/** Kinds of files, by the names of their paths. */
export const KINDS: Readonly<Record<string, Kind>> = {
  "variables.safetensors": variables,
  "variables.npz": variables,
  "checkpoint": {
    async write(path, value) {
      using w = tf.variable(value);
      await new tf.train.Checkpoint({ w }).write(path);
    },
    async read(path) {
      using w = tf.variable(0);
      await new tf.train.Checkpoint({ w }).restore(path);
      return w.item() as number;
    },
  },
  "manager": {
    async write(path, value) {
      using w = tf.variable(value);
      const checkpoint = new tf.train.Checkpoint({ w });
      await (await tf.train.CheckpointManager.create(checkpoint, path, { maxToKeep: 1 })).save();
    },
    async read(path) {
      using w = tf.variable(0);
      const checkpoint = new tf.train.Checkpoint({ w });
      await (await tf.train.CheckpointManager.create(checkpoint, path)).restoreOrInitialize();
      return w.item() as number;
    },
  },
  "records": records(""),
  "records.gz": records("GZIP"),
  "snapshot": {
    write: (path, value) => tf.data.range(value, value + 3).save(path),
    read: async (path) => await elements(await tf.data.load(path) as tf.data.Dataset<tf.Tensor>),
  },
  "cache": {
    async write(path, value) {
      await Deno.mkdir(path, { recursive: true });
      const others = VALUES.filter((v) => v !== value);
      await elements(cached(path, value));
      for (const v of others) await Deno.remove(`${path}/${v}`).catch(() => {});
    },
    async read(path) {
      const files = [...Deno.readDirSync(path)].map(({ name }) => Number(name));
      const values = VALUES.filter((v) => files.includes(v));
      // What they would compute is not what their files have.
      for (const v of values) assertEquals(await elements(cached(path, v, 10)), v);
      // The next one comes before the earlier one is removed.
      return values.find((v) => !values.includes(v % VALUES.length + 1))!;
    },
  },
  "saved_model": {
    write: writeModel,
    async read(path) {
      const model = await loadSavedModel(path);
      const { y } = await model.signatures.serving_default!({ x: 0 });
      model.dispose();
      return y!.item() as number;
    },
  },
  "model.onnx": {
    write: (path, value) => convertOnnx(`${models}/${value}`, path),
    async read(path) {
      const model = await loadOnnx(path), { y } = model.call({ x: tf.scalar(0) });
      model.dispose();
      return (y as tf.Tensor).item() as number;
    },
  },
  "graph.pb": {
    write: writeConverted,
    async read(path) {
      const def = await (await import("@weft/weft/tf")).readGraphDef(path);
      const constant = def.node.find((n) => n.op === "Const" && n.attr?.dtype?.type === "DT_FLOAT");
      const graph = new tf.Graph();
      const [value] = graph.asDefault(() =>
        tf.importGraphDef(def, { returnElements: [`${constant!.name}:0`] })
      ) as tf.Tensor[];
      return await new tf.Session({ graph }).run(value) as number;
    },
  },
  "model.json": {
    write: writeConverted,
    async read(path) {
      const model = await tf.loadGraphModel(path);
      return (model.predict(tf.scalar(0)) as tf.Tensor).item() as number;
    },
  },
  "layers": {
    write: (path, value) =>
      tfc.io.getSaveHandlers(`file://${path}`)[0].save!({
        modelTopology: { value },
        weightSpecs: [{ name: "w", shape: [], dtype: "float32" }],
        weightData: new Float32Array([value]).buffer,
      }),
    async read(path) {
      const { modelTopology, weightData } = await tfc.io.getLoadHandlers(
        `file://${path}/model.json`,
      )[0].load!();
      const [value] = new Float32Array(tfc.io.CompositeArrayBuffer.join(weightData));
      assertEquals(modelTopology, { value }, "the topology and the weights are of one model");
      return value;
    },
  },
};
