/** Seeds of Keras' layers: the same give a model the same draws run after run, others give others. */
import * as tf from "@weft/weft/tfjs-core";
import { registerKerasLayers } from "@weft/weft/keras";
import { assert, assertAlmostEquals, assertEquals, assertNotEquals } from "@std/assert";
import { testOnDevices, testRowOnDevices } from "../../devices.ts";
import type { Any } from "../../script/helpers.ts";
import { tfjsPackages } from "../../../tools/tfjs_packages.ts";

const { tfl } = await tfjsPackages();
registerKerasLayers(tfl);

/** A model of Keras 3 of these layers. */
function sequence(
  shape: number[],
  ...layers: [class_name: string, config: object][]
): Promise<Any> {
  const input = { class_name: "InputLayer", config: { batch_shape: [null, ...shape], name: "x" } };
  const all = layers.map(([class_name, config], i) => ({
    class_name,
    config: { name: `y${i}`, trainable: true, ...config },
  }));
  const topology = {
    class_name: "Sequential",
    registered_name: null,
    config: { name: "m", layers: [input, ...all] },
  };
  return tfl.loadLayersModel(tf.io.fromMemory({ modelTopology: topology as Any }));
}

const VECTOR = [40], STEPS = [5, 8], IMAGE = [8, 8, 3];
const PIXELS = { value_range: [0, 1] };
const LAYERS: Record<string, [shape: number[], config: object]> = {
  Dropout: [VECTOR, { rate: 0.5 }],
  SpatialDropout1D: [STEPS, { rate: 0.5 }],
  SpatialDropout2D: [[4, 4, 20], { rate: 0.5 }],
  GaussianNoise: [VECTOR, { stddev: 0.5 }],
  GaussianDropout: [VECTOR, { rate: 0.5 }],
  AlphaDropout: [VECTOR, { rate: 0.5 }],
  GRU: [STEPS, { units: 6, dropout: 0.5, recurrent_dropout: 0.25, reset_after: true }],
  RandomFlip: [IMAGE, { mode: "horizontal" }],
  RandomRotation: [IMAGE, { factor: 0.2 }],
  RandomTranslation: [IMAGE, { height_factor: 0.3, width_factor: 0.3 }],
  RandomZoom: [IMAGE, { height_factor: 0.3 }],
  RandomCrop: [IMAGE, { height: 4, width: 4 }],
  RandomContrast: [IMAGE, { factor: 0.5, ...PIXELS }],
  RandomBrightness: [IMAGE, { factor: 0.5, ...PIXELS }],
  RandomPosterization: [IMAGE, { factor: [1, 6], ...PIXELS }],
  RandomErasing: [IMAGE, { factor: 1, ...PIXELS }],
  RandAugment: [IMAGE, { factor: 0.7, num_ops: 3, ...PIXELS }],
  MixUp: [IMAGE, { alpha: 0.4 }],
  CutMix: [IMAGE, { factor: 1 }],
};

for (const [name, [shape, config]] of Object.entries(LAYERS)) {
  testRowOnDevices(`${name} draws by its seed, and goes on from there`, async () => {
    const x = tf.reshape(tf.range(0, 8 * shape.reduce((a, b) => a * b)).mod(97).div(97), [
      8,
      ...shape,
    ]);
    const first = await sequence(shape, [name, { ...config, seed: 7 }]);
    const weights = first.getWeights();
    const draws = async (seed: number): Promise<number[][]> => {
      const model = await sequence(shape, [name, { ...config, seed }]);
      model.setWeights(weights);
      const all: number[][] = [];
      for (let i = 0; i < 4; i++) {
        all.push([...await model.apply(x, { training: true }).data() as Float32Array]);
      }
      model.dispose();
      return all;
    };
    const found = await draws(7);
    assertEquals(await draws(7), found, "the same seed");
    assertNotEquals(await draws(8), found, "another seed");
    assert(new Set(found.map(String)).size > 1, "calls of one model differ");
    assertEquals(await first.predict(x).array(), await first.predict(x).array(), "predictions");
  });
}

testOnDevices("layers with seeds keep what is expected of them", async () => {
  const x = tf.fill([200, 200], 2);
  for (
    const [name, config, mean, deviation] of [
      ["Dropout", { rate: 0.25 }, 2, 2 * Math.sqrt(1 / 3)],
      ["Dropout", { rate: 0.25, noise_shape: [null, 1] }, 2, 2 * Math.sqrt(1 / 3)],
      ["GaussianNoise", { stddev: 0.5 }, 2, 0.5],
      ["GaussianDropout", { rate: 0.2 }, 2, 1],
    ] as const
  ) {
    const model = await sequence([200], [name, { ...config, seed: 3 }]);
    const y = model.apply(x, { training: true }) as tf.Tensor;
    const far = "noise_shape" in config ? 0.3 : 0.03;
    assertAlmostEquals((await tf.mean(y).data())[0], mean, far, name);
    const spread = tf.sqrt(tf.mean(tf.square(tf.sub(y, tf.mean(y)))));
    assertAlmostEquals((await spread.data())[0], deviation, far, name);
    tf.test_util.expectArraysEqual(await model.predict(x).data(), await x.data());
  }
  // Zeros and ones of a normal distribution keep their mean and variance.
  const normal = tf.randomNormal([200, 200], 0, 1, "float32", 5);
  const model = await sequence([200], ["AlphaDropout", { rate: 0.3, seed: 3 }]);
  const y = model.apply(normal, { training: true }) as tf.Tensor;
  assertAlmostEquals((await tf.mean(y).data())[0], 0, 0.03);
  assertAlmostEquals((await tf.mean(tf.square(y)).data())[0], 1, 0.05);
});

testOnDevices("models with seeds are trained alike run after run, compiled too", async () => {
  const x = tf.reshape(tf.range(0, 48).mod(7).div(7), [6, 4, 2]);
  const losses = async (seed: number): Promise<number[]> => {
    const model = await sequence(
      [4, 2],
      ["GaussianNoise", { stddev: 0.3, seed }],
      ["GRU", { units: 3, dropout: 0.3, reset_after: true, seed }],
      ["Dropout", { rate: 0.3, seed }],
      ["Dense", { units: 1 }],
    );
    model.setWeights((model.getWeights() as tf.Tensor[]).map((w) => tf.fill(w.shape, 0.1)));
    model.compile({ optimizer: tf.train.sgd(0.1), loss: "meanSquaredError" });
    const { history } = await model.fit(x, tf.ones([6, 1]), {
      ...{ epochs: 24, batchSize: 6, shuffle: false, verbose: 0 },
    });
    return history.loss;
  };
  const found = await losses(5);
  assertEquals(await losses(5), found);
  assertNotEquals(await losses(6), found);
});
