/** Layers of words in models that a program makes: as Keras computes them, learned, saved, compiled and refused. */

import * as tf from "@weft/weft/tfjs-core";
import * as weft from "@weft/weft";
import { kerasLayers } from "@weft/weft/keras";
import { assert, assertEquals } from "@std/assert";
import { testOnDevices } from "../../devices.ts";
import { effort } from "../../effort.ts";
import type { Any } from "../../script/helpers.ts";
import { blocksOf } from "../../../tools/doc_test.ts";
import { tfjsPackages } from "../../../tools/tfjs_packages.ts";

const { tfl } = await tfjsPackages();
const layers = kerasLayers<Any>(tfl);

/** A layer of Keras 3, and what it does. */
interface Told {
  readonly layer: keyof typeof layers;
  readonly config: Any;
  readonly adapt?: Any;
  readonly input: Any;
  readonly result: Any;
  readonly vocabulary?: (string | number)[];
}
const told: Told[] = JSON.parse(
  await Deno.readTextFile(new URL("fixtures/text_layers.json", import.meta.url)),
);

const isText = (input: Any): boolean => typeof [input].flat(3)[0] === "string";
const tensorOf = (input: Any): tf.Tensor => {
  const isFloat = [input].flat(3).some((v: Any) => v % 1 !== 0);
  return tf.tensor(input, undefined, isText(input) ? "string" : isFloat ? "float32" : "int32");
};

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

async function same(found: tf.Tensor, wanted: Any, what: string): Promise<void> {
  const array = await found.array();
  if (isText(wanted)) assertEquals(array as Any, wanted, what);
  else {
    assertEquals(found.shape, tf.tensor(wanted).shape, what);
    tf.test_util.expectArraysClose([array].flat(3) as number[], [wanted].flat(3), 1e-5);
  }
}

testOnDevices("the guide's model of words predicts from texts", async () => {
  const first = 'import * as tf from "@tensorflow/tfjs-core";';
  const [{ text }] = blocksOf("docs/models.md").filter((block) => block.text.startsWith(first));
  const body = text.replaceAll(/^import .*$/gm, "").replace("classifier.predict", "return $&");
  const AsyncFunction = (async () => {}).constructor as FunctionConstructor;
  await scoped(async () => {
    const found = await new AsyncFunction("tf", "tfl", "kerasLayers", body)(tf, tfl, kerasLayers);
    assertEquals(found.shape, [1, 1]);
  });
});

/** Saves a model, through the text of a file. */
async function saved(model: Any): Promise<Any> {
  const all: Any = {};
  await model.save(tf.io.withSaveHandler((artifacts: Any) => {
    Object.assign(all, artifacts, {
      modelTopology: JSON.parse(JSON.stringify(artifacts.modelTopology)),
    });
    return Promise.resolve({ modelArtifactsInfo: tf.io.getModelArtifactsInfoForJSON(artifacts) });
  }));
  return all;
}

testOnDevices("layers of words give and learn what Keras's do", () =>
  scoped(async () => {
    for (const { layer, config, adapt, input, result, vocabulary } of told) {
      const what = JSON.stringify({ layer, config });
      const made = layers[layer](config);
      if (adapt) await made.adapt(adapt);
      if (vocabulary) {
        assertEquals(made.getVocabulary(), vocabulary, what);
        assertEquals(made.vocabularySize(), vocabulary.length, what);
      }
      await same(made.apply(tensorOf(input)), result, what);
    }
  }));

Deno.test("layers of words go through models' files with their words as they are", () =>
  scoped(async () => {
    await tf.setBackend("cpu");
    const step = effort(3, 1);
    for (const { layer, config, adapt, input, result } of told.filter((_, i) => i % step === 0)) {
      const batch = tensorOf(input);
      // The package makes columns of vectors.
      if (batch.rank === 1 && (layer !== "textVectorization" || config.split === null)) continue;
      const what = JSON.stringify({ layer, config });
      const made = layers[layer](config);
      if (adapt) await made.adapt(adapt);
      const x = tfl.input({
        shape: batch.shape.slice(1).concat(batch.rank === 1 ? 1 : []),
        dtype: batch.dtype,
      });
      const model = tfl.model({ inputs: x, outputs: made.apply(x) });
      const again = await tfl.loadLayersModel(tf.io.fromMemory(await saved(model)));
      await same(again.predict(batch), result, what);
      assertEquals(again.layers[1].getConfig(), made.getConfig(), what);
      if (made.getVocabulary) assertEquals(again.layers[1].getVocabulary(), made.getVocabulary());
      // Without a length that is given, each batch has the steps of its longest text.
      const isFixed = layer !== "textVectorization" || config.outputSequenceLength ||
        config.outputMode;
      if (isFixed) await same(again.predict(batch, { batchSize: 2 }), result, what);
    }
  }));

testOnDevices(
  "a sequential model that begins with texts trains, is compiled, and learns other words",
  () =>
    scoped(async () => {
      const text = layers.textVectorization({
        inputShape: [1],
        maxTokens: 9,
        outputSequenceLength: 4,
        name: "words_in",
      });
      const rows = ["good film", "bad film", "a good, good one", "the bad one", "", "so so"];
      await text.adapt(rows);
      const model = tfl.sequential({
        layers: [
          text,
          tfl.layers.embedding({ inputDim: 9, outputDim: 3, embeddingsInitializer: "ones" }),
          tfl.layers.globalAveragePooling1d(),
          tfl.layers.dense({ units: 1, kernelInitializer: "ones" }),
        ],
      });
      const x = tf.tensor(rows.map((row) => [row])),
        y = tf.tensor([[1], [-1], [1], [-1], [0], [0]]);
      model.compile({ optimizer: tf.train.adam(0.1), loss: "meanSquaredError" });
      const { history } = await model.fit(x, y, {
        epochs: 12,
        batchSize: 4,
        shuffle: true,
        verbose: 0,
      });
      assert(history.loss.at(-1) < history.loss[0] / 2, `${history.loss}`);
      const before = await model.predict(x).data();
      for (let i = 0; i < 20; i++) model.predict(x).dispose();
      tf.test_util.expectArraysClose(await model.predict(x).data(), before, 1e-5);
      for (const [rank1, batchSize] of [[true, 32], [false, 4], [false, 1]] as const) {
        const found = model.predict(rank1 ? tf.tensor(rows) : x, { batchSize });
        tf.test_util.expectArraysClose(await found.data(), before, 1e-5);
      }
      const again = await tfl.loadLayersModel(tf.io.fromMemory(await saved(model)));
      tf.test_util.expectArraysClose(await again.predict(x).data(), before, 1e-5);
      text.setVocabulary(["film", "one"]);
      const changed = await model.predict(x).data();
      assert(changed.some((v: number, i: number) => Math.abs(v - before[i]) > 1e-3));
      await text.adapt(rows);
      tf.test_util.expectArraysClose(await model.predict(x).data(), before, 1e-5);
    }),
);

testOnDevices("a functional model takes words, numbers and hashes", () =>
  scoped(async () => {
    const word = tfl.input({ shape: [2], dtype: "string" }),
      number = tfl.input({ shape: [null], dtype: "int32" });
    const ids = layers.stringLookup({
      vocabulary: ["a_b", "aB"],
      maskToken: "",
      outputMode: "multiHot",
    });
    const kinds = layers.integerLookup({ vocabulary: [7, 9], outputMode: "count" });
    const bins = layers.hashing({ numBins: 4, outputMode: "count", salt: 5 });
    const joined = tfl.layers.concatenate().apply([
      ids.apply(word),
      kinds.apply(number),
      bins.apply(word),
    ]);
    assertEquals(joined.shape, [null, 3 + 3 + 4]);
    const model = tfl.model({
      inputs: [word, number],
      outputs: tfl.layers.dense({ units: 1 }).apply(joined),
    });
    model.compile({ optimizer: tf.train.sgd(0.1), loss: "meanSquaredError" });
    const given = [
      tf.tensor([["a_b", ""], ["aB", "q"], ["q", "q"]]),
      tf.tensor([[7, 7, 1], [9, 9, 9], [0, 7, 9]], [3, 3], "int32"),
    ];
    const { history } = await model.fit(given, tf.tensor([[1], [2], [3]]), {
      epochs: 20,
      verbose: 0,
    });
    assert(history.loss.at(-1) < history.loss[0]);
    await same(ids.apply(given[0]), [[0, 1, 0], [1, 0, 1], [1, 0, 0]], "ids");
    await same(kinds.apply(given[1]), [[1, 2, 0], [0, 0, 3], [1, 1, 1]], "kinds");
    // Another number of columns and rows.
    const wide = [tf.tensor([["aB", "aB"]]), tf.tensor([[7, 9, 9, 1, 2]], [1, 5], "int32")];
    assertEquals(model.predict(wide).shape, [1, 1]);
  }));

testOnDevices(
  "adapt() takes tensors, ragged rows, datasets and iterables, and leaves no tensor behind",
  async () => {
    const layer = layers.stringLookup(), rows = [["b", "a"], ["b", "c"]];
    const ragged = weft.ragged.constant([["b", "a", "b"], ["c"]]);
    const tensor = tf.tensor(rows), batches = [tf.tensor(["b", "c"]), tf.tensor(["a", "b"])];
    const words = ["[UNK]", "b", "c", "a"], before = tf.memory().numTensors;
    for (
      const data of [
        rows,
        ["b", "a", "b", "c"],
        tensor,
        ragged,
        batches.values(),
        weft.data.fromTensorSlices(["b", "c", "b", "a"]).batch(3),
      ]
    ) {
      await layer.adapt(data);
      assertEquals(layer.getVocabulary(), words);
      assertEquals(layer.getVocabulary({ includeSpecialTokens: false }), words.slice(1));
    }
    await layer.adapt(weft.data.fromTensorSlices(["b", "c", "b", "a"]).batch(2), { steps: 1 });
    assertEquals(layer.getVocabulary(), ["[UNK]", "c", "b"]);
    const texts = layers.textVectorization({ outputMode: "tfIdf" });
    await texts.adapt(weft.data.fromTensorSlices(["a b", "b", "c b"]).batch(2));
    assertEquals(texts.getVocabulary(), ["[UNK]", "b", "c", "a"]);
    assertEquals(tf.memory().numTensors, before);
    tf.dispose([tensor, ragged, ...batches]);
  },
);
