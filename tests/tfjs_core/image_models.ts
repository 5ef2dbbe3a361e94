/** Packages of `@tensorflow-models` whose weights npm has not, over small graphs of random weights, and upscaler with a model of its own. */

import type { Any } from "../script/helpers.ts";
import { type Case, imageGraph, numbers, picture, random } from "./graphs.ts";

const POINTS = { heatmap: 17, offsets: 34, forward: 32, backward: 32 };

/** The packages by name. */
export const IMAGE_MODELS: Readonly<Record<string, Case>> = {
  mobilenet: {
    found: "npm:@tensorflow-models/mobilenet@2.1.1/package.json",
    entry: "dist/index.js",
    async open(mobilenet, tf) {
      const logits = "MobilenetV2/Logits/output";
      const modelUrl = await imageGraph(tf, { [logits]: 1001 }, { mean: true });
      const model = await mobilenet.load({ version: 2, alpha: 1, modelUrl });
      const [image, high] = [picture(tf, 96), picture(tf, 96, 64)];
      return async () => {
        const found = await model.classify(image, 4);
        return [...numbers(found), ...await model.infer(high).data()];
      };
    },
  },
  posenet: {
    found: "npm:@tensorflow-models/posenet@2.2.2/package.json",
    entry: "dist/index.js",
    async open(posenet, tf) {
      const { heatmap, offsets, forward, backward } = POINTS;
      const modelUrl = await imageGraph(tf, { offsets, heatmap, forward, backward });
      const net = await posenet.load({
        architecture: "MobileNetV1",
        outputStride: 16,
        inputResolution: 161,
        multiplier: 0.5,
        modelUrl,
      });
      const image = picture(tf, 120, 150);
      return async () => {
        const one = await net.estimateSinglePose(image);
        const many = await net.estimateMultiplePoses(image, {
          maxDetections: 3,
          scoreThreshold: 0.1,
        });
        return numbers([one, many]);
      };
    },
  },
  "body-pix": {
    found: "npm:@tensorflow-models/body-pix@2.2.1/package.json",
    entry: "dist/index.js",
    async open(bodyPix, tf) {
      const { heatmap, offsets, forward, backward } = POINTS;
      const modelUrl = await imageGraph(tf, {
        offsets,
        segments: 1,
        parts: 24,
        long_offsets: 34,
        heatmap,
        forward,
        backward,
        part_offsets: 48,
      });
      const net = await bodyPix.load({
        architecture: "MobileNetV1",
        outputStride: 16,
        multiplier: 0.5,
        quantBytes: 4,
        modelUrl,
      });
      const options = { internalResolution: 1, segmentationThreshold: 0.5 };
      const count = (data: ArrayLike<number>) =>
        [...Array.from(data)].reduce((a, b) => a + b, 0) / data.length;
      const image = picture(tf, 60, 90);
      return async () => {
        const found = await net.segmentPerson(image, options);
        const parted = await net.segmentPersonParts(image, options);
        return [count(found.data), count(parted.data), ...numbers(found.allPoses)];
      };
    },
  },
  "speech-commands": {
    found: "npm:@tensorflow-models/speech-commands@0.5.4/package.json",
    entry: "dist/index.js",
    async open(speech, tf) {
      const layers = [
        tf.layers.conv2d({
          filters: 4,
          kernelSize: [2, 8],
          activation: "relu",
          inputShape: [43, 232, 1],
        }),
        tf.layers.maxPooling2d({ poolSize: [2, 2], strides: [2, 2] }),
        tf.layers.flatten(),
        tf.layers.dense({ units: 6, activation: "relu" }),
        tf.layers.dense({ units: 5, activation: "softmax" }),
      ];
      const model = tf.sequential({ layers });
      model.setWeights(
        model.getWeights().map((w: Any, i: number) =>
          tf.tensor(random(i + 1, w.size, 0.2), w.shape)
        ),
      );
      const artifacts: Any = {};
      await model.save(tf.io.withSaveHandler((given: Any) => {
        Object.assign(artifacts, given);
        return Promise.resolve({
          modelArtifactsInfo: { dateSaved: new Date(), modelTopologyType: "JSON" },
        });
      }));
      const recognizer = speech.create("BROWSER_FFT", undefined, artifacts, {
        wordLabels: ["_background_noise_", "down", "left", "right", "up"],
      });
      await recognizer.ensureModelLoaded();
      const sounds = tf.tensor(random(9, 2 * 43 * 232, 4), [2, 43, 232, 1]);
      return async () => {
        const heard = await recognizer.recognize(sounds, { includeEmbedding: true });
        const { scores, embedding } = heard;
        return [...numbers(scores), ...await embedding.data()];
      };
    },
  },
  upscaler: {
    found: "npm:upscaler@1.0.0",
    entry: "index.js",
    async open({ default: Upscaler }, tf) {
      // Its models are served as files, and name layers of their own.
      const { x2, folder } = await slim();
      const server = Deno.serve(
        { port: 0, onListen: () => {} },
        async (request) =>
          new Response(await Deno.readFile(new URL(`.${new URL(request.url).pathname}`, folder))),
      );
      try {
        const path = `http://127.0.0.1:${server.addr.port}/models/x2/model.json`;
        const upscaler = new Upscaler({ model: { ...x2, path } });
        await upscaler.getModel();
        const image = picture(tf, 24, 16).toFloat().expandDims(0);
        return async () => {
          const wide = await upscaler.execute(image, { output: "tensor" });
          const parts = await upscaler.execute(image, {
            output: "tensor",
            patchSize: 12,
            padding: 2,
          });
          return [...wide.shape, ...await wide.data(), ...await parts.data()];
        };
      } finally {
        await server.shutdown();
      }
    },
  },
};

/** The smallest model of `@upscalerjs/esrgan-slim`, and where its package lies. */
async function slim(): Promise<{ x2: Any; folder: URL }> {
  const name = "npm:@upscalerjs/esrgan-slim@1.0.0";
  await import(name).catch(() => {});
  const [found] = /^.*\/@upscalerjs\/esrgan-slim\/[^/]+\//.exec(import.meta.resolve(name))!;
  const { createRequire } = await import("node:module");
  const cjs = createRequire(found)("./dist/cjs/models/esrgan-slim/src/x2/cjs.js");
  return { x2: cjs.default ?? cjs, folder: new URL(found) };
}
