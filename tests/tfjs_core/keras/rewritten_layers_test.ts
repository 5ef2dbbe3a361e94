/** Layers of Keras that become others: pipelines, embeddings in reverse, equalized contrast: in models, saved again, and what is refused. */

import * as tf from "@weft/weft/tfjs-core";
import { errors } from "@weft/weft";
import { layersTopology, registerKerasLayers } from "@weft/weft/keras";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../../devices.ts";
import type { Any } from "../../script/helpers.ts";
import { tfjsPackages } from "../../../tools/tfjs_packages.ts";

const { tfl } = await tfjsPackages();
registerKerasLayers(tfl);
const { FailedPreconditionError, UnimplementedError, ValueError } = errors;

/** A sequential model of Keras 3. */
function topologyOf(layers: object[], shape: (number | null)[]): Any {
  const input = { class_name: "InputLayer", config: { batch_shape: [null, ...shape], name: "x" } };
  const config = { name: "m", layers: [input, ...layers] };
  return { class_name: "Sequential", registered_name: null, config };
}

const load = (topology: Any): Promise<Any> =>
  tfl.loadLayersModel(tf.io.fromMemory({ modelTopology: topology }));
const layer = (class_name: string, config: object = {}, name = class_name) => ({
  class_name,
  config: { name, trainable: true, ...config },
});

testOnDevices(
  "pipelines in pipelines are their layers, and keep their name for the last",
  async () => {
    const inner = layer(
      "Pipeline",
      { layers: [layer("Rescaling", { scale: 3, offset: 0 })] },
      "in",
    );
    const outer = layer("Pipeline", {
      layers: [layer("Rescaling", { scale: 2, offset: 1 }), inner],
    });
    const model = await load(topologyOf(
      [outer, outer].map((l, i) => ({
        ...l,
        config: { ...l.config, name: `steps${i}` },
      })),
      [2],
    ));
    assertEquals(await model.predict(tf.tensor([[1, 2]])).array(), [[57, 93]]);
    assertEquals(model.layers.at(-1).name, "steps1");
  },
);

testOnDevices("Flatten leaves rows that are flat, as Keras' does", async () => {
  const flat = { ...layer("Flatten"), build_config: { input_shape: [null, 2] } };
  const model = await load(topologyOf([flat, layer("Rescaling", { scale: 2, offset: 1 })], [2]));
  assertEquals(await model.predict(tf.tensor([[1, 2], [3, 4]])).array(), [[3, 5], [7, 9]]);
  const deep = { ...layer("Flatten"), build_config: { input_shape: [null, 2, 2] } };
  const deeper = await load(topologyOf([deep], [2, 2]));
  assertEquals(await deeper.predict(tf.tensor([[[1, 2], [3, 4]]])).array(), [[1, 2, 3, 4]]);
  assertEquals(deeper.layers.at(-1).getClassName(), "Flatten");
});

testOnDevices("equalized contrast takes any grid and either place of channels", async () => {
  const x = tf.randomUniform([2, 7, 5, 3], 0, 255);
  const name = "ContrastLimitedAdaptiveHistogramEqualization";
  for (const grid of [[1, 1], [2, 3], [7, 5], [8, 8]]) {
    const settings = { value_range: [0, 255], clip_limit: 2, tile_grid_size: grid };
    const last = await load(
      topologyOf([layer(name, { ...settings, data_format: "channels_last" })], [7, 5, 3]),
    );
    const first = await load(
      topologyOf([layer(name, { ...settings, data_format: "channels_first" })], [3, 7, 5]),
    );
    const y = last.predict(x), z = first.predict(tf.transpose(x, [0, 3, 1, 2]));
    assertEquals(y.shape, [2, 7, 5, 3]);
    assert((await tf.min(y).data())[0] >= 0 && (await tf.max(y).data())[0] <= 255.001);
    tf.test_util.expectArraysClose(
      await tf.transpose(z, [0, 2, 3, 1]).data() as Any,
      await y.data() as Any,
      1e-3,
    );
  }
});

/** A functional model whose embedding is called ahead and in reverse. */
function tied(settings: object): Any {
  const tensor = (name: string, node = 0) => ({
    class_name: "__keras_tensor__",
    config: { keras_history: [name, node, 0], shape: [null, 3], dtype: "float32" },
  });
  const call = (args: Any[], kwargs = {}) => ({ args, kwargs });
  const layers = [
    { ...layer("InputLayer", { batch_shape: [null, 3] }, "x"), name: "x", inbound_nodes: [] },
    {
      ...layer("ReversibleEmbedding", { input_dim: 6, output_dim: 2, ...settings }, "words"),
      name: "words",
      inbound_nodes: [call([tensor("x")]), call([tensor("words"), true])],
    },
  ];
  const config = {
    ...{ name: "m", layers },
    ...{ input_layers: ["x", 0, 0], output_layers: [["words", 1, 0], ["words", 0, 0]] },
  };
  return { class_name: "Functional", registered_name: null, config };
}

testOnDevices(
  "an embedding and its reverse share their weights, also when saved again",
  async () => {
    const model = await load(tied({ logit_soft_cap: 3 }));
    const x = tf.tensor([[0, 5, 2]]);
    const [scores, vectors] = model.predict(x);
    assertEquals([scores.shape, vectors.shape], [[1, 3, 6], [1, 3, 2]]);
    const [table] = model.getWeights();
    const plain = tf.matMul(tf.reshape(vectors, [3, 2]), table, false, true);
    const wanted = tf.mul(tf.tanh(tf.div(plain, 3)), 3);
    tf.test_util.expectArraysClose(await scores.data() as Any, await wanted.data() as Any, 1e-4);
    const all: Any = {};
    await model.save(tf.io.withSaveHandler((artifacts: Any) => {
      Object.assign(all, artifacts, {
        modelTopology: JSON.parse(JSON.stringify(artifacts.modelTopology)),
      });
      return Promise.resolve({ modelArtifactsInfo: tf.io.getModelArtifactsInfoForJSON(artifacts) });
    }));
    const again = await tfl.loadLayersModel(tf.io.fromMemory(all)) as Any;
    const [same] = again.predict(x);
    tf.test_util.expectArraysClose(await same.data() as Any, await scores.data() as Any, 1e-5);
    // Another model by the same names has weights of its own.
    const other = await load(tied({ logit_soft_cap: 3 }));
    other.setWeights([tf.zeros([6, 2])]);
    const [none] = other.predict(x), [kept] = again.predict(x);
    assertEquals((await none.data())[0], 0);
    tf.test_util.expectArraysClose(await kept.data() as Any, await scores.data() as Any, 1e-5);
  },
);

Deno.test("rewritten layers refuse what they cannot be", async () => {
  assertThrows(
    () => layersTopology(topologyOf([layer("Pipeline", { layers: [] }, "p")], [2])),
    ValueError,
    'pipeline "p" has no layers',
  );
  await assertRejects(
    () => load(tied({ mask_zero: true })),
    UnimplementedError,
    "mask_zero is not supported",
  );
  const name = "ContrastLimitedAdaptiveHistogramEqualization";
  await assertRejects(
    () => load(topologyOf([layer(name, { tile_grid_size: [0, 2] })], [4, 4, 1])),
    ValueError,
    "tileGridSize must be whole numbers",
  );
  await assertRejects(
    () => load(topologyOf([layer(name)], [null, 4, 1])),
    UnimplementedError,
    "images of known size",
  );
  await assertRejects(
    () => load(topologyOf([layer("ReversedEmbedding", { input_dim: 2 }, "lone_reverse")], [4])),
    FailedPreconditionError,
    "there is no layer lone",
  );
});
