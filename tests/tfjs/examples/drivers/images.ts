/** Drivers of examples that learn from images. */
import { images, numbers, serveLayers } from "../made.ts";
import type { Any, Drivers } from "../types.ts";

/** Puts made images in the place of those that `MnistData` fetches. */
function fillMnist(tf: Any, data: Any): void {
  const split = 128, count = 228, { xs, labels } = images(tf, count);
  const [pixels, classes] = [xs.dataSync(), Uint8Array.from(labels.dataSync())];
  Object.assign(data, {
    trainImages: pixels.slice(0, split * 784),
    testImages: pixels.slice(split * 784),
    trainLabels: classes.slice(0, split * 10),
    testLabels: classes.slice(split * 10),
    trainIndices: tf.util.createShuffledIndices(split),
    testIndices: tf.util.createShuffledIndices(count - split),
  });
}

/** Examples over images. */
export const IMAGES: Drivers = {
  "custom-layer": {
    isSeeded: true,
    inBrowser: true,
    async run({ tf, load }) {
      const { antirectifier } = await load("custom_layer.js");
      const out = antirectifier().apply(tf.tensor4d(numbers(8 * 8 * 3), [1, 8, 8, 3]));
      const [positive, negative] = tf.split(out, 2, 3);
      return { values: await tf.concat([positive, negative], 1).data() };
    },
  },
  "fashion-mnist-vae": {
    isSeeded: false,
    inBrowser: true,
    async run({ tf, load }) {
      const { decoder, encoder, vae, vaeLoss } = await load("model.js");
      const options = { originalDim: 784, intermediateDim: 64, latentDim: 2 };
      const model = vae(encoder(options), decoder(options));
      const optimizer = tf.train.adam();
      const batch = tf.reshape(images(tf, 32).xs, [32, 784]);
      for (let i = 0; i < 12; i++) {
        optimizer.minimize(() => vaeLoss(batch, model.apply(batch), options));
      }
    },
  },
  "mnist": {
    exposes: { "index.js": ["createModel", "load", "showPredictions", "train"] },
    edits: { "index.js": [["batchSize = 320", "batchSize = 32"]] },
    isSeeded: true,
    async run({ tf, load }) {
      const { MnistData } = await load("data.js");
      MnistData.prototype.load = function () {
        fillMnist(tf, this);
      };
      const { document } = globalThis as Any;
      document.getElementById("train-epochs").value = "2";
      const index = await load("index.js");
      await index.load();
      const model = index.createModel();
      await index.train(model, () => {});
      await index.showPredictions(model);
    },
  },
  "mnist-acgan": {
    isSeeded: false,
    async run({ tf, load }) {
      const gan = await load("gan.js");
      const compiled = () => tf.train.adam(0.001, 0.5);
      const discriminator = gan.buildDiscriminator();
      discriminator.compile({
        optimizer: compiled(),
        loss: ["binaryCrossentropy", "sparseCategoricalCrossentropy"],
      });
      const generator = gan.buildGenerator(8);
      const combined = gan.buildCombinedModel(8, generator, discriminator, compiled());
      const { xs, labels } = images(tf, 8);
      const y = tf.expandDims(tf.argMax(labels, -1), -1), losses = [];
      for (let i = 0; i < 8; i++) {
        const both = [generator, discriminator];
        const [loss] = await gan.trainDiscriminatorOneStep(xs, y, 0, 4, 8, ...both);
        losses.push(loss);
        await gan.trainCombinedModelOneStep(4, 8, combined);
      }
      return { losses };
    },
  },
  "mnist-core": {
    edits: { "model.js": [["TRAIN_STEPS = 100", "TRAIN_STEPS = 10"]] },
    isSeeded: false,
    async run({ tf, load }) {
      const data = new (await load("data.js")).MnistData();
      fillMnist(tf, data);
      const model = await load("model.js");
      await model.train(data, () => {});
      const batch = data.nextTestBatch(16);
      model.predict(batch.xs);
    },
  },
  "mnist-node": {
    isSeeded: false,
    inBrowser: true,
    async run({ tf, load }) {
      const model = await load("model.js");
      const { xs, labels } = images(tf, 32);
      await model.fit(xs, labels, { batchSize: 16, epochs: 8, verbose: 0 });
    },
  },
  "mnist-transfer-cnn": {
    exposes: { "index.js": ["MnistTransferCNNPredictor"] },
    edits: {
      "index.js": [["\nsetupMnistTransferCNN();", ""]],
      // Bundlers call functions of a namespace without it.
      "util.js": [["this.indexToOneHot", "indexToOneHot"]],
    },
    isSeeded: true,
    inBrowser: true,
    async run(stage) {
      const { tf, load, serve } = stage;
      const { layers } = tf;
      const model = tf.sequential({
        layers: [
          layers.conv2d({ filters: 4, kernelSize: 3, activation: "relu", inputShape: [28, 28, 1] }),
          layers.conv2d({ filters: 4, kernelSize: 3, activation: "relu" }),
          layers.maxPooling2d({ poolSize: 2 }),
          layers.dropout({ rate: 0 }),
          layers.flatten(),
          layers.dense({ units: 16, activation: "relu" }),
          layers.dropout({ rate: 0 }),
          layers.dense({ units: 5, activation: "softmax" }),
        ],
      });
      await serveLayers(stage, "model.json", model);
      for (const [name, count] of [["train", 60], ["test", 20]] as const) {
        const { xs } = images(tf, count, { classes: 5 });
        const rows = await tf.mul(tf.squeeze(xs, [3]), 255).array();
        serve(
          `gte5.${name}.json`,
          JSON.stringify(rows.map((x: Any, i: number) => ({ x, y: i % 5 }))),
        );
      }
      const { document } = globalThis as Any;
      const { MnistTransferCNNPredictor } = await load("index.js");
      const urls = Object.fromEntries(
        ["model.json", "gte5.train.json", "gte5.test.json"].map((file) => [
          file.split(".").at(-2),
          `http://made/${file}`,
        ]),
      );
      const predictor = await new MnistTransferCNNPredictor().init(urls);
      document.getElementById("epochs").value = "3";
      await predictor.retrainModel();
    },
  },
  "simple-object-detection": {
    exposes: { "train.js": ["buildObjectDetectionModel", "customLossFunction"] },
    edits: {
      "train.js": [["(async function main() {", "async function main() {"], ["\n})();", "\n}"]],
    },
    isSeeded: true,
    async run(stage) {
      const { tf, load } = stage;
      const conv = (name: string, first: object = {}) =>
        tf.layers.conv2d({
          name,
          filters: 4,
          kernelSize: 3,
          strides: 4,
          padding: "same",
          ...first,
        });
      const relu = (name: string) => tf.layers.reLU({ name, maxValue: 6 });
      const base = tf.sequential({
        layers: [
          conv("conv1", { inputShape: [224, 224, 3] }),
          conv("conv_pw_9"),
          conv("conv_pw_10"),
          conv("conv_pw_11"),
          relu("conv_pw_11_relu"),
          tf.layers.flatten(),
        ],
      });
      await serveLayers(stage, "mobilenet_v1_0.25_224/model.json", base);
      const { buildObjectDetectionModel, customLossFunction } = await load("train.js");
      const { model, fineTuningLayers } = await buildObjectDetectionModel();
      const pixels = tf.tensor4d(numbers(4 * 224 * 224 * 3), [4, 224, 224, 3]);
      const boxes = tf.tensor2d(numbers(20).map((x, i) => i % 5 === 0 ? i % 2 : 200 * x), [4, 5]);
      const train = async (rate: number) => {
        model.compile({ loss: customLossFunction, optimizer: tf.train.rmsprop(rate) });
        await model.fit(pixels, boxes, { epochs: 4, batchSize: 4, verbose: 0 });
      };
      await train(5e-3);
      for (const layer of fineTuningLayers) layer.trainable = true;
      await train(2e-3);
    },
  },
};
