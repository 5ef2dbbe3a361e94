/** Drivers of examples that use models which others have trained: made models stand for those. */
import { node, numbers, placeholder, serveGraph, serveLayers, until } from "../made.ts";
import type { Any, Drivers, Stage } from "../types.ts";

/** An image of the page whose pixels can be read without a canvas. */
function madeImage(size: number): Any {
  const data = Uint8Array.from(numbers(4 * size * size), (x) => 255 * x);
  return { data, width: size, height: size };
}

/** A graph that tells 1001 classes of images by their mean colours, as MobileNet's does by more. */
async function serveImageGraph(stage: Stage): Promise<void> {
  const { tf } = stage;
  await serveGraph(stage, "model.json", {
    nodes: [
      placeholder("images", [-1, 224, 224, 3]),
      node("pooled", "Mean", ["images", "axes"], { keep_dims: { b: false } }),
      node("logits", "MatMul", ["pooled", "weights"], {
        transpose_a: { b: false },
        transpose_b: { b: false },
      }),
    ],
    weights: {
      axes: tf.tensor1d([1, 2], "int32"),
      weights: tf.tensor2d(numbers(3 * 1001), [3, 1001]),
    },
  });
}

/** A small network with the names and sizes that examples look for in MobileNet. */
async function serveImageLayers(stage: Stage): Promise<Any> {
  const { layers, sequential } = stage.tf;
  const conv = (name: string, strides: number, first: object = {}) =>
    layers.conv2d({ name, filters: 8, kernelSize: 3, strides, padding: "same", ...first });
  const model = sequential({
    layers: [
      conv("conv1", 8, { inputShape: [224, 224, 3] }),
      conv("conv_pw_13", 4),
      layers.reLU({ name: "conv_pw_13_relu", maxValue: 6 }),
      layers.globalAveragePooling2d({}),
      layers.dense({ units: 1000, activation: "softmax" }),
    ],
  });
  await serveLayers(stage, "model.json", model);
  return model;
}

/** Probabilities that the package for MobileNet gives. */
const probabilities = (classes: Any[]) => classes.map(({ probability }) => probability);

/** Examples over trained models. */
export const PRETRAINED: Drivers = {
  "angular-predictive-prefetching": {
    exposes: { "client/src/prefetch.service-worker.js": ["predict"] },
    isSeeded: true,
    async run(stage) {
      const { tf, load } = stage;
      const places = ["cur_page", "session_index"];
      const scalars = places.map((name) => placeholder(name, [-1], "DT_INT32"));
      const rows = places.map((name) =>
        node(`${name}_row`, "GatherV2", ["table", name, "axis"], { Tparams: { type: "DT_FLOAT" } })
      );
      await serveGraph(stage, "model.json", {
        nodes: [
          ...scalars,
          ...rows,
          node("sum", "AddV2", places.map((name) => `${name}_row`)),
          node("result", "Softmax", ["sum"]),
        ],
        weights: {
          axis: tf.scalar(0, "int32"),
          table: tf.tensor2d(numbers(120 * 108), [120, 108]),
        },
      });
      // A service worker loads the library as a script, which makes a global of it.
      Object.assign(globalThis, { tf, importScripts: () => {} });
      const { predict } = await load("client/src/prefetch.service-worker.js");
      let found: [number, string][] | undefined;
      await until(tf, async () => (found = await predict("basket.html", "7")) !== undefined);
      return { values: found!.map(([probability]) => probability) };
    },
  },
  "chrome-extension": {
    exposes: { "src/service_worker.js": ["imageClassifier"] },
    isSeeded: true,
    async run(stage) {
      await serveImageGraph(stage);
      const { promise, resolve } = Promise.withResolvers<Any>();
      const listener = { addListener: () => {} };
      (globalThis as Any).chrome = {
        runtime: { onInstalled: listener },
        contextMenus: { onClicked: listener },
        tabs: { sendMessage: (_: number, message: Any) => resolve(message) },
      };
      const { imageClassifier } = await stage.load("src/service_worker.js");
      await until(stage.tf, () => imageClassifier.model !== undefined);
      await imageClassifier.analyzeImage(madeImage(32), "made.png", 1);
      return { values: probabilities((await promise).predictions) };
    },
  },
  "electron": {
    edits: {
      "image_classifier.js": [[
        "if (isNode() && cachedModelJsonUrl",
        "if (false && cachedModelJsonUrl",
      ]],
    },
    isSeeded: true,
    async run(stage) {
      const { tf, load } = stage;
      await serveImageLayers(stage);
      const { ImageClassifier } = await load("image_classifier.js");
      const images = tf.tensor4d(numbers(2 * 224 * 224 * 3), [2, 224, 224, 3]);
      const found = await new ImageClassifier().classify(images, 3);
      return { values: found.flat().map(({ prob }: Any) => prob) };
    },
  },
  "interactive-visualizers": {
    files: ["src/app/app.component.ts"],
    isSeeded: true,
    async run(stage) {
      await serveImageGraph(stage);
      const { AppComponent } = await stage.load("src/app/app.component.ts");
      const app = new AppComponent();
      app.modelMetadata = {
        tfjs_classifier_model_metadata: {
          input_tensor_metadata: { shape: [-1, 224, 224, 3] },
          output_head_metadata: [{ score_threshold: 0.1 }],
        },
      };
      app.model = await app.fetchModel("http://made/model.json");
      app.imageSelectedIndex = 0;
      await app.runImageClassifier(madeImage(50), 0);
      return { values: app.classifierResults.map(({ score }: Any) => score) };
    },
  },
  "mobilenet": {
    exposes: { "index.js": ["mobilenet", "predict"] },
    edits: {
      "index.js": [["\nmobilenetDemo();", ""], [
        "let mobilenet;",
        "export let mobilenet; export const set = (m) => mobilenet = m;",
      ]],
    },
    isSeeded: true,
    async run(stage) {
      const { tf, load } = stage;
      await serveImageGraph(stage);
      const index = await load("index.js");
      index.set(await tf.loadGraphModel("https://tfhub.dev/made/1", { fromTFHub: true }));
      const image = (globalThis as Any).document.createElement("img");
      for (const [key, value] of Object.entries(madeImage(224))) {
        Object.defineProperty(image, key, { value });
      }
      await index.predict(image);
      const logits = index.mobilenet.predict(tf.ones([1, 224, 224, 3]));
      return { values: probabilities(await index.getTopKClasses(logits, 5)) };
    },
  },
  "react-native": {
    files: ["image-classification/expo/App.tsx"],
    isSeeded: true,
    async run(stage) {
      await serveImageGraph(stage);
      const { promise, resolve } = Promise.withResolvers<string>();
      const { data } = madeImage(16), { tf } = stage;
      (globalThis as Any).reactNative = {
        useEffect: (effect: () => void) => effect(),
        useRef: () => ({}),
        useState: (value: unknown) => [value, (v: unknown) => typeof v === "string" && resolve(v)],
        resolveAssetSource: () => ({ uri: "http://made/basketball.jpg" }),
        decodeJpeg: (bytes: Uint8Array) =>
          tf.tensor3d(bytes, [16, 16, 4], "int32").slice([0, 0, 0], [-1, -1, 3]),
      };
      stage.serve("basketball.jpg", data);
      const App = await stage.load("image-classification/expo/App.tsx");
      App();
      return { values: [Number(/\(([\d.]+)\)/.exec(await promise)![1])] };
    },
  },
  "visualize-convnet": {
    exposes: { "filters.js": ["inputGradientAscent"] },
    isSeeded: true,
    async run(stage) {
      const { tf, load } = stage;
      const { gradClassActivationMap } = await load("cam.js");
      const { inputGradientAscent } = await load("filters.js");
      const model = await serveImageLayers(stage);
      const x = tf.tensor4d(numbers(224 * 224 * 3).map((v) => 255 * v), [1, 224, 224, 3]);
      const map = gradClassActivationMap(model, 7, x);
      const image = inputGradientAscent(model, "conv_pw_13", 2, 3);
      if (!Number.isFinite(tf.mean(image).dataSync()[0])) {
        throw new Error("The image is not finite");
      }
      return { values: tf.mean(map, [0, 1]).dataSync() };
    },
  },
  "webcam-transfer-learning": {
    exposes: {
      "index.js": ["controllerDataset", "loadTruncatedMobileNet", "train", "truncatedMobileNet"],
    },
    edits: {
      "index.js": [
        ["\ninit();", ""],
        ["  model.fit(controllerDataset", "  return model.fit(controllerDataset"],
        [
          "let truncatedMobileNet;",
          "let truncatedMobileNet; export const set = (m) => truncatedMobileNet = m;",
        ],
      ],
    },
    isSeeded: true,
    inBrowser: true,
    async run(stage) {
      const { tf, load } = stage;
      await serveImageLayers(stage);
      const index = await load("index.js");
      const network = await index.loadTruncatedMobileNet();
      index.set(network);
      for (let label = 0; label < 4; label++) {
        const image = tf.tensor4d(numbers(224 * 224 * 3, label), [1, 224, 224, 3]);
        index.controllerDataset.addExample(network.predict(image), label);
      }
      const { document } = globalThis as Any;
      document.getElementById("epochs").value = "10";
      document.getElementById("batchSizeFraction").value = "1";
      await index.train();
    },
  },
};
