/** Recurrent convolutions, spectrograms, crossings and changes of images of Keras in sequential models: batches, files and what is refused. */

import * as tf from "@weft/weft/tfjs-core";
import { errors } from "@weft/weft";
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
  "a recurrent convolution of one axis is that of two over a row, and is saved and loaded",
  async () => {
    const settings = { filters: 3, padding: "same", activation: "tanh", return_sequences: true };
    const one = await modelOf("ConvLSTM1D", { ...settings, kernel_size: [2], strides: [2] }, [
      4,
      6,
      2,
    ]);
    const two = await modelOf("ConvLSTM2D", {
      ...{ ...settings, kernel_size: [1, 2], strides: [1, 2], recurrent_activation: "sigmoid" },
      data_format: "channels_last",
    }, [4, 1, 6, 2]);
    const weights = one.getWeights() as tf.Tensor[];
    assertEquals(weights.map((w) => w.shape), [[2, 2, 12], [2, 3, 12], [12]]);
    two.setWeights(weights.map((w) => w.shape.length === 1 ? w : tf.expandDims(w, 0)));
    const x = tf.randomNormal([3, 4, 6, 2]);
    const wanted = tf.squeeze(two.predict(tf.expandDims(x, 2)), [2]) as tf.Tensor;
    await close(one.predict(x), wanted);
    await close(one.predict(x, { batchSize: 2 }), wanted);
    await close((await again(one)).predict(x), wanted);
    assertEquals(one.outputs[0].shape, [null, 4, 3, 3]);
  },
);

testOnDevices("spectrograms have the frames and bins that files say, and are saved", async () => {
  const x = tf.randomNormal([2, 40, 1]);
  for (
    const [config, shape] of [
      [{ mode: "magnitude", frame_length: 8, frame_step: 4 }, [2, 9, 5]],
      [{ mode: "log", frame_length: 8, padding: "same" }, [2, 10, 5]],
      [{ mode: "stft", frame_length: 10 }, [2, 7, 18]],
      [{ mode: "angle", frame_length: 8, expand_dims: true }, [2, 9, 5, 1]],
    ] as const
  ) {
    const model = await modelOf("STFTSpectrogram", config, [40, 1]);
    const y = model.predict(x) as tf.Tensor;
    assertEquals(y.shape, [...shape]);
    assertEquals(model.outputs[0].shape.slice(1), [...shape.slice(1)]);
    await close((await again(model)).predict(x), y);
  }
  const config = {
    fft_length: 16,
    sequence_stride: 8,
    num_mel_bins: 4,
    sampling_rate: 800,
    max_freq: 400,
  };
  const mel = await modelOf("MelSpectrogram", config, [40]);
  const y = mel.predict(tf.squeeze(x, [2])) as tf.Tensor;
  assertEquals(y.shape, [2, 4, 6]);
  const range = tf.sub(tf.max(y), tf.min(y));
  assert((await range.data())[0] <= 80.001);
});

testOnDevices(
  "images are stretched to their range; what augments them changes nothing",
  async () => {
    const x = tf.tensor([[[[1, 5], [3, 5]], [[2, 5], [1, 5]]]]);
    const contrast = await modelOf("AutoContrast", { value_range: [0, 10] }, [2, 2, 2]);
    assertEquals(await (contrast.predict(x) as tf.Tensor).array() as unknown, [
      [[[0, 5], [10, 5]], [[5, 5], [0, 5]]],
    ]);
    for (
      const name of [
        "Equalization",
        "Solarization",
        "RandomCrop",
        "RandAugment",
        "AugMix",
        "MixUp",
        "CutMix",
      ]
    ) {
      const model = await modelOf(name, { height: 1, width: 1 }, [2, 2, 2]);
      await close(model.predict(x), x);
    }
  },
);

testOnDevices("layers refuse settings and inputs that they do not know", async () => {
  const refusals: [string, object, number[], Any, string][] = [
    [
      "ConvLSTM1D",
      { filters: 2, kernel_size: [2], data_format: "channels_first" },
      [3, 4, 2],
      UnimplementedError,
      "channels first",
    ],
    [
      "ConvLSTM1D",
      { filters: 2, kernel_size: [2], stateful: true },
      [3, 4, 2],
      UnimplementedError,
      "a state",
    ],
    [
      "ConvLSTM1D",
      { filters: 2, kernel_size: [2], return_state: true },
      [3, 4, 2],
      UnimplementedError,
      "states",
    ],
    [
      "ConvLSTM3D",
      { filters: 2, kernel_size: [2], dropout: 0.5 },
      [3, 4, 4, 4, 2],
      UnimplementedError,
      "dropout",
    ],
    [
      "ConvLSTM1D",
      { filters: 2, kernel_size: [2], activation: "gelu" },
      [3, 4, 2],
      UnimplementedError,
      "gelu",
    ],
    ["STFTSpectrogram", { mode: "loud" }, [40, 1], ValueError, "none of log"],
    ["MelSpectrogram", { window: "kaiser" }, [40], UnimplementedError, "kaiser"],
    ["HashedCrossing", { num_bins: 0 }, [1], ValueError, "at least 1"],
    ["HashedCrossing", { num_bins: 2.5 }, [1], ValueError, "at least 1"],
    ["HashedCrossing", { num_bins: 3 }, [1], ValueError, "two or more inputs"],
  ];
  for (const [name, config, shape, error, text] of refusals) {
    await assertRejects(() => modelOf(name, config, shape), error, text, name);
  }
});
