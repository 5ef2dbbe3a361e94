/** Packages of `@tensorflow-models` whose weights npm has not, over small graphs of random weights, and upscaler with a model of its own. */

import type { Any } from "../script/helpers.ts";
import { uniform } from "../../bench/random.ts";

/** A package, and something to ask of it. */
export interface Case {
  /** A file of it that says where the rest lies, and which loads nothing else: one must not load TensorFlow.js's engine here. */
  readonly found: string;
  /** The file that a bundler would begin with, from there. */
  readonly entry: string;
  /** Its report, as numbers. */
  tell(pkg: Any, tf: Any, folder: URL): Promise<ArrayLike<number>>;
}

const random = (seed: number, size: number, scale: number): Float32Array => {
  const next = uniform(seed);
  return Float32Array.from({ length: size }, () => (next() - 0.5) * scale);
};

/** An image with whole numbers from 0 to 255, smooth so that what is found in it does not hang on rounding. */
function picture(tf: Any, height: number, width = height): Any {
  const values = Float32Array.from(
    { length: height * width * 3 },
    (_, i) => Math.round(127 + 120 * Math.sin(i / 97 + (i % 3)) * Math.cos(i / (31 * width))),
  );
  return tf.tensor3d(values, [height, width, 3], "int32");
}

const type = (name: string) => ({ type: name });
const ints = (...values: number[]) => ({ list: { i: values.map(String) } });
const convolution = (name: string, input: string, stride: number) => ({
  name,
  op: "Conv2D",
  input: [input, `${name}/filter`],
  attr: {
    T: type("DT_FLOAT"),
    strides: ints(1, stride, stride, 1),
    dilations: ints(1, 1, 1, 1),
    padding: { s: btoa("SAME") },
    data_format: { s: btoa("NHWC") },
  },
});
const constant = (name: string, dtype = "DT_FLOAT") => ({
  name,
  op: "Const",
  attr: { dtype: type(dtype) },
});

/** Options of a graph. */
interface GraphOptions {
  /** Size of a step over the image. */
  readonly stride?: number;
  /** True where an output is the mean of a head's maps, false where it is the maps. */
  readonly mean?: boolean;
  /** Name of the input. */
  readonly input?: string;
}

/** A graph of one convolution, and a head for each output: its maps. As a handler that loads it. */
async function imageGraph(
  tf: Any,
  heads: Readonly<Record<string, number>>,
  { stride = 16, mean = false, input = "image" }: GraphOptions = {},
): Promise<Any> {
  const weights: Record<string, Any> = {
    "features/filter": tf.tensor(random(1, 7 * 7 * 3 * 8, 0.6), [7, 7, 3, 8]),
  };
  const dim = [-1, -1, -1, 3].map((size) => ({ size: `${size}` }));
  const node: Any[] = [
    {
      name: input,
      op: "Placeholder",
      attr: { dtype: type("DT_FLOAT"), shape: { shape: { dim } } },
    },
    constant("features/filter"),
    convolution("features", input, stride),
    { name: "active", op: "Relu6", input: ["features"], attr: { T: type("DT_FLOAT") } },
  ];
  if (mean) {
    weights.axes = tf.tensor1d([1, 2], "int32");
    node.push(constant("axes", "DT_INT32"));
  }
  for (const [i, [name, maps]] of Object.entries(heads).entries()) {
    const maybe = mean ? `${name}/maps` : name;
    weights[`${maybe}/filter`] = tf.tensor(random(i + 2, 8 * maps, 1.5), [1, 1, 8, maps]);
    node.push(constant(`${maybe}/filter`), convolution(maybe, "active", 1));
    if (mean) {
      node.push({ name, op: "Mean", input: [maybe, "axes"], attr: { keep_dims: { b: false } } });
    }
  }
  const { data: weightData, specs: weightSpecs } = await tf.io.encodeWeights(weights);
  const outputs = Object.fromEntries(Object.keys(heads).map((name) => [name, { name }]));
  return tf.io.fromMemory({
    modelTopology: { node, library: {}, versions: {} },
    weightSpecs,
    weightData,
    signature: { outputs },
  });
}

const POINTS = { heatmap: 17, offsets: 34, forward: 32, backward: 32 };

/** All numbers in a value, in order. */
function numbers(value: unknown): number[] {
  if (typeof value === "number") return [value];
  if (ArrayBuffer.isView(value)) return [...value as Float32Array];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(numbers);
}

/** The packages by name. */
export const IMAGE_MODELS: Readonly<Record<string, Case>> = {
  mobilenet: {
    found: "npm:@tensorflow-models/mobilenet@2.1.1/package.json",
    entry: "dist/index.js",
    async tell(mobilenet, tf) {
      const logits = "MobilenetV2/Logits/output";
      const modelUrl = await imageGraph(tf, { [logits]: 1001 }, { mean: true });
      const model = await mobilenet.load({ version: 2, alpha: 1, modelUrl });
      const found = await model.classify(picture(tf, 96), 4);
      return [...numbers(found), ...await model.infer(picture(tf, 96, 64)).data()];
    },
  },
  posenet: {
    found: "npm:@tensorflow-models/posenet@2.2.2/package.json",
    entry: "dist/index.js",
    async tell(posenet, tf) {
      const { heatmap, offsets, forward, backward } = POINTS;
      const modelUrl = await imageGraph(tf, { offsets, heatmap, forward, backward });
      const net = await posenet.load({
        architecture: "MobileNetV1",
        outputStride: 16,
        inputResolution: 161,
        multiplier: 0.5,
        modelUrl,
      });
      const one = await net.estimateSinglePose(picture(tf, 120, 150));
      const many = await net.estimateMultiplePoses(picture(tf, 120, 150), {
        maxDetections: 3,
        scoreThreshold: 0.1,
      });
      return numbers([one, many]);
    },
  },
  "body-pix": {
    found: "npm:@tensorflow-models/body-pix@2.2.1/package.json",
    entry: "dist/index.js",
    async tell(bodyPix, tf) {
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
      const found = await net.segmentPerson(picture(tf, 60, 90), options);
      const parted = await net.segmentPersonParts(picture(tf, 60, 90), options);
      const count = (data: ArrayLike<number>) =>
        [...Array.from(data)].reduce((a, b) => a + b, 0) / data.length;
      return [count(found.data), count(parted.data), ...numbers(found.allPoses)];
    },
  },
  "speech-commands": {
    found: "npm:@tensorflow-models/speech-commands@0.5.4/package.json",
    entry: "dist/index.js",
    async tell(speech, tf) {
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
      const heard = await recognizer.recognize(
        tf.tensor(random(9, 2 * 43 * 232, 4), [2, 43, 232, 1]),
        { includeEmbedding: true },
      );
      const { scores, embedding } = heard;
      return [...numbers(scores), ...await embedding.data()];
    },
  },
  upscaler: {
    found: "npm:upscaler@1.0.0",
    entry: "index.js",
    async tell({ default: Upscaler }, tf) {
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
        const image = picture(tf, 24, 16).toFloat().expandDims(0);
        const wide = await upscaler.execute(image, { output: "tensor" });
        const parts = await upscaler.execute(image, {
          output: "tensor",
          patchSize: 12,
          padding: 2,
        });
        return [...wide.shape, ...await wide.data(), ...await parts.data()];
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
