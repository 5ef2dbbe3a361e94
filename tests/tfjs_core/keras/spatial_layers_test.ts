/** Adaptive pooling and convolutions of Keras in sequential models: sizes, batches, files and what is refused. */

import * as tf from "@weft/weft/tfjs-core";
import { errors, linalg } from "@weft/weft";
import { registerKerasLayers } from "@weft/weft/keras";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { testOnDevices } from "../../devices.ts";
import type { Any } from "../../script/helpers.ts";
import { tfjsPackages } from "../../../tools/tfjs_packages.ts";

const { tfl } = await tfjsPackages();
registerKerasLayers(tfl);
const { UnimplementedError, ValueError } = errors;

/** Makes a model of Keras 3 of one layer. */
function modelOf(class_name: string, config: object, shape: (number | null)[]): Promise<Any> {
  const input = { class_name: "InputLayer", config: { batch_shape: [null, ...shape], name: "x" } };
  const layer = { class_name, config: { name: "y", trainable: true, ...config } };
  const topology = {
    class_name: "Sequential",
    registered_name: null,
    config: { name: "m", layers: [input, layer] },
  };
  return tfl.loadLayersModel(tf.io.fromMemory({ modelTopology: topology as Any }));
}

/** Saves a model and loads it again, through the text of a file. */
async function again(model: Any): Promise<Any> {
  const all: Any = {};
  await model.save(tf.io.withSaveHandler((artifacts: Any) => {
    const modelTopology = JSON.parse(JSON.stringify(artifacts.modelTopology));
    Object.assign(all, artifacts, { modelTopology });
    return Promise.resolve({ modelArtifactsInfo: tf.io.getModelArtifactsInfoForJSON(artifacts) });
  }));
  return tfl.loadLayersModel(tf.io.fromMemory(all));
}

async function close(found: tf.Tensor, wanted: tf.Tensor): Promise<void> {
  assertEquals(found.shape, wanted.shape);
  tf.test_util.expectArraysClose(await found.data() as Any, await wanted.data() as Any, 1e-4);
}

testOnDevices(
  "adaptive pooling to one part pools all, to as many parts as there are nothing, and repeats beyond",
  async () => {
    for (const [name, reduce] of [["Average", tf.mean], ["Max", tf.max]] as const) {
      for (const [rank, extents] of [[5], [4, 3], [2, 4, 3]].entries()) {
        const x = tf.randomNormal([3, ...extents, 2]), axes = extents.map((_, i) => i + 1);
        const of = (outputSize: number | number[], more: object = {}) =>
          modelOf(`Adaptive${name}Pooling${rank + 1}D`, { output_size: outputSize, ...more }, [
            ...extents,
            2,
          ]);
        const one = await of(1);
        await close(one.predict(x), (reduce as Any)(x, axes, true));
        await close(one.predict(x, { batchSize: 2 }), (reduce as Any)(x, axes, true));
        await close((await of(extents)).predict(x), x);
        const twice = await of(extents.map((n) => 2 * n));
        const repeated = axes.reduce(
          (y, axis) =>
            tf.gather(y, Array.from({ length: 2 * extents[axis - 1] }, (_, i) => i >> 1), axis),
          x as tf.Tensor,
        );
        await close(twice.predict(x), repeated);
        await close((await again(twice)).predict(x), repeated);
        assertEquals(twice.outputs[0].shape, [null, ...extents.map((n) => 2 * n), 2]);
      }
    }
  },
);

testOnDevices(
  "a convolution of groups equals one with zeros between the groups, and trains",
  async () => {
    for (const [rank, extents] of [[6], [5, 4], [3, 4, 3]].entries()) {
      const name = `Conv${rank + 1}D`, shape = [...extents, 4];
      const settings = {
        filters: 6,
        kernel_size: extents.map(() => 2),
        padding: "same",
        strides: 1,
        activation: "relu",
      };
      const model = await modelOf(name, { ...settings, groups: 2 }, shape);
      const whole = await modelOf(name, settings, shape);
      const [kernel, bias] = model.getWeights() as tf.Tensor[];
      assertEquals(kernel.shape, [...extents.map(() => 2), 2, 6]);
      const [a, b] = tf.split(kernel, 2, -1), none = tf.zerosLike(a);
      const full = tf.concat([tf.concat([a, none], -1), tf.concat([none, b], -1)], -2);
      whole.setWeights([full, tf.add(bias, 0)]);
      const x = tf.randomNormal([5, ...shape]);
      await close(model.predict(x, { batchSize: 2 }), whole.predict(x));
      await close((await again(model)).predict(x), whole.predict(x));
      model.compile({ optimizer: tf.train.sgd(0.1), loss: "meanSquaredError" });
      const { history } = await model.fit(x, tf.ones([5, ...extents, 6]), {
        epochs: 4,
        batchSize: 2,
        verbose: 0,
      });
      assert(history.loss.at(-1) < history.loss[0]);
    }
  },
);

testOnDevices(
  "Conv1DTranspose is the gradient of a convolution, with batches and steps of any number",
  async () => {
    for (
      const [padding, stride, size] of [["valid", 2, 3], ["same", 3, 2], ["same", 1, 4]] as const
    ) {
      const settings = {
        filters: 3,
        kernel_size: [size],
        strides: [stride],
        padding,
        use_bias: false,
      };
      const model = await modelOf("Conv1DTranspose", settings, [null, 2]);
      assertEquals(model.outputs[0].shape, [null, null, 3]);
      const [kernel] = model.getWeights() as tf.Tensor3D[];
      assertEquals(kernel.shape, [size, 3, 2]);
      for (const steps of [4, 7]) {
        const x = tf.randomNormal([3, steps, 2]) as tf.Tensor3D,
          y = model.predict(x, { batchSize: 2 });
        const back = tf.grad((v) => tf.conv1d(v as tf.Tensor3D, kernel, stride, padding))(
          tf.zerosLike(y),
          x,
        );
        await close(y, back);
        await close((await again(model)).predict(x), y);
      }
    }
  },
);

/** Layers that cannot be, by their settings and the shape of their input. */
const REFUSED: readonly (readonly [
  name: string,
  config: object,
  shape: (number | null)[],
  error: Any,
  text: string,
])[] = [
  [
    "AdaptiveMaxPooling2D",
    { output_size: [2] },
    [4, 4, 1],
    ValueError,
    "outputSize must be 2 whole numbers",
  ],
  ["AdaptiveMaxPooling1D", { output_size: 0 }, [4, 1], ValueError, "layer y: outputSize must be"],
  [
    "AdaptiveAveragePooling1D",
    { output_size: 2 },
    [null, 1],
    ValueError,
    "known extents, received [,,1]",
  ],
  ["AdaptiveAveragePooling1D", { output_size: 2 }, [4, 4, 1], ValueError, "must have 3 axes"],
  [
    "Conv2D",
    { filters: 3, kernel_size: 2, groups: 2 },
    [4, 4, 2],
    ValueError,
    "3 filters are not of 2 groups",
  ],
  [
    "Conv2D",
    { filters: 4, kernel_size: 2, groups: 2 },
    [4, 4, 3],
    ValueError,
    "3 channels are not of 2 groups",
  ],
  [
    "Conv2D",
    { filters: 4, kernel_size: 2, groups: 2, data_format: "channels_first" },
    [2, 4, 4],
    UnimplementedError,
    "channels first",
  ],
  [
    "Conv1DTranspose",
    { filters: 4, kernel_size: 2, padding: "causal" },
    [4, 2],
    ValueError,
    "padding causal",
  ],
  [
    "Conv1DTranspose",
    { filters: 4, kernel_size: 2, strides: 2, dilation_rate: 2 },
    [4, 2],
    ValueError,
    "do not go together",
  ],
];

Deno.test("adaptive pooling and convolutions refuse what Keras refuses", async () => {
  await tf.setBackend("cpu");
  for (const [name, config, shape, error, text] of REFUSED) {
    await assertRejects(() => modelOf(name, config, shape), error, text);
  }
});

testOnDevices(
  "SpectralNormalization trains kernels of norm 1 through files, batches and compiled steps",
  async () => {
    const dense = { class_name: "Dense", config: { name: "d", trainable: true, units: 4 } };
    const model = await modelOf("SpectralNormalization", { layer: dense, power_iterations: 3 }, [
      3,
    ]);
    const names = model.weights.map(({ name }: Any) => name.split("/").at(-1));
    assertEquals(names.map((name: string) => name.replace(/_\d+$/, "")), [
      "kernel",
      "bias",
      "vector_u",
    ]);
    assertEquals(model.trainableWeights.length, 2);
    const x = tf.randomNormal([8, 3]), y = tf.randomNormal([8, 4]);
    const before = await model.predict(x).data();
    tf.test_util.expectArraysClose(await model.predict(x, { batchSize: 3 }).data(), before, 1e-5);
    await close((await again(model)).predict(x), model.predict(x));
    // A rate of 0 leaves what the steps themselves write.
    model.compile({ optimizer: tf.train.sgd(0), loss: "meanSquaredError" });
    await model.fit(x, y, { epochs: 12, batchSize: 4, verbose: 0 });
    const [kernel] = model.getWeights() as tf.Tensor[];
    const values = await linalg.svdvals(kernel).data();
    tf.test_util.expectArraysClose([values[0]], [1], 1e-3);
    const { length } = model.getWeights();
    assertEquals((await again(model)).getWeights().length, length);
    await close((await again(model)).predict(x), model.predict(x));
  },
);

Deno.test("SpectralNormalization refuses layers without a kernel, and no iterations", async () => {
  await tf.setBackend("cpu");
  const of = (class_name: string, more: object = {}) =>
    modelOf("SpectralNormalization", {
      layer: { class_name, config: { name: "d", trainable: true, ...more } },
    }, [
      3,
    ]);
  await assertRejects(() => of("Flatten"), UnimplementedError, "layer d has no kernel");
  const layer = { class_name: "Dense", config: { name: "d", trainable: true, units: 1 } };
  const none = modelOf("SpectralNormalization", { layer, power_iterations: 0 }, [3]);
  await assertRejects(() => none, ValueError, "layer y: powerIterations must be");
});
