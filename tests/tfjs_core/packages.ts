/**
 * Packages that are built on TensorFlow.js, and something to ask of each. As a worker it asks them over TensorFlow.js itself, whose
 * engine is a global: it is told where a bundle is and names of packages, and answers with what they tell.
 */

import type { Any } from "../script/helpers.ts";
import { uniform } from "../../bench/random.ts";
import { fromFileUrl } from "../../tools/paths.ts";
import { DETECTORS } from "./detectors.ts";
import { type Case, check, meanGraph, numbers } from "./graphs.ts";
import { IMAGE_MODELS } from "./image_models.ts";
import { TEXT_MODELS } from "./text_models.ts";

const noise = (n: number, seed = 1): Float32Array => {
  const next = uniform(seed);
  return Float32Array.from({ length: n }, next);
};

/** An image with whole numbers from 0 to 255. */
const image = (tf: Any, size: number): Any =>
  tf.tensor3d(noise(size * size * 3).map((v) => Math.floor(256 * v)), [size, size, 3], "int32");

const read = (folder: URL, path: string) => Deno.readFile(new URL(path, folder));
const json = async (folder: URL, path: string) =>
  JSON.parse(new TextDecoder().decode(await read(folder, path)));

/** Nets of face-api: what they tell of an image of their size. */
const FACES: Readonly<
  Record<string, { readonly file: string; readonly tell: (net: Any, x: Any) => Any }>
> = {
  ageGenderNet: {
    file: "age_gender_model",
    tell: async (net, x) => {
      const { age, genderProbability } = await net.predictAgeAndGender(x);
      return [age, genderProbability];
    },
  },
  faceExpressionNet: {
    file: "face_expression_model",
    tell: async (net, x) => Object.values(await net.predictExpressions(x)),
  },
  faceLandmark68Net: {
    file: "face_landmark_68_model",
    tell: async (net, x) => (await net.detectLandmarks(x)).positions,
  },
  faceLandmark68TinyNet: {
    file: "face_landmark_68_tiny_model",
    tell: async (net, x) => (await net.detectLandmarks(x)).positions,
  },
  faceRecognitionNet: {
    file: "face_recognition_model",
    tell: (net, x) => net.computeFaceDescriptor(x),
  },
  ssdMobilenetv1: {
    file: "ssd_mobilenetv1_model",
    tell: (net, x) => net.locateFaces(x, { minConfidence: 0.01, maxResults: 5 }),
  },
  tinyFaceDetector: {
    file: "tiny_face_detector_model",
    tell: async (net, x) => await (await net.forward(x, 128)).data(),
  },
};

export const PACKAGES: Readonly<Record<string, Case>> = {
  "knn-classifier": {
    found: "npm:@tensorflow-models/knn-classifier@1.2.6/package.json",
    entry: "dist/knn-classifier.esm.js",
    async open(knn, tf) {
      const rows = noise(12 * 5).map((v) => v - 0.5);
      return await Promise.resolve(async () => {
        const classifier = knn.create();
        for (let i = 0; i < 12; i++) {
          classifier.addExample(tf.tensor1d(rows.slice(5 * i, 5 * i + 5)), ["a", "b", "c"][i % 3]);
        }
        const told: number[] = [];
        const tell = async (k: number) => {
          const x = tf.tensor1d(noise(5, 3).map((v) => v - 0.5));
          const { classIndex, confidences } = await classifier.predictClass(x, k);
          told.push(classIndex, ...Object.values(confidences) as number[]);
        };
        for (const k of [1, 3, 7]) await tell(k);
        told.push(...Object.values(classifier.getClassExampleCount()) as number[]);
        const dataset = classifier.getClassifierDataset();
        for (const t of Object.values(dataset) as Any[]) told.push(...await t.data());
        classifier.clearClass("b");
        classifier.setClassifierDataset(dataset);
        await tell(4);
        classifier.dispose();
        return told;
      });
    },
  },
  "coco-ssd": {
    found: "npm:@tensorflow-models/coco-ssd@2.2.3/package.json",
    entry: "dist/index.js",
    async open(coco, tf) {
      const artifacts = await meanGraph(tf, {
        scores: { shape: [1, 20, 90], scale: 0.01 },
        places: { shape: [1, 20, 1, 4], scale: 0.005, bias: 0.5 },
      }, { dtype: "DT_INT32" });
      const model = await coco.load({ modelUrl: tf.io.fromMemory(artifacts) });
      const picture = image(tf, 40);
      return async () => {
        const found = await model.detect(picture, 10, 0.3);
        return [found.length, ...numbers(found)];
      };
    },
  },
  nsfwjs: {
    found: "npm:nsfwjs@4.3.0/models/mobilenet_v2",
    entry: "../core.js",
    async open(nsfw, tf, folder) {
      const { MobileNetV2Model } = await import(
        new URL("mobilenet_v2.js", folder).href
      );
      const model = await nsfw.load("MobileNetV2", { modelDefinitions: [MobileNetV2Model] });
      const picture = image(tf, 64);
      return async () => {
        const found = await model.classify(picture, 5);
        return found.map(({ probability }: Any) => probability);
      };
    },
  },
  "basic-pitch": {
    found: "npm:@spotify/basic-pitch@1.0.1/package.json",
    entry: "esm/index.js",
    async open(pitch, tf, folder) {
      const { weightsManifest, ...rest } = await json(folder, "model/model.json");
      const weightData = (await read(folder, "model/group1-shard1of1.bin")).buffer;
      const model = tf.loadGraphModel(
        tf.io.fromMemory({ ...rest, weightSpecs: weightsManifest[0].weights, weightData }),
      );
      // Noise and, a little later, a tone of 440 Hz.
      const audio = noise(11025).map((v, i) =>
        (v - 0.5) / 5 + (i < 3000 ? 0 : Math.sin(2 * Math.PI * 440 * i / 22050))
      );
      const listener = new pitch.BasicPitch(model);
      return async () => {
        const frames: number[][] = [], onsets: number[][] = [], contours: number[][] = [];
        await listener.evaluateModel(
          audio,
          (f: number[][], o: number[][], c: number[][]) => {
            frames.push(...f);
            onsets.push(...o);
            contours.push(...c);
          },
          () => {},
        );
        const notes = pitch.noteFramesToTime(
          pitch.addPitchBendsToNoteEvents(
            contours,
            pitch.outputToNotesPoly(frames, onsets, 0.5, 0.3, 5),
          ),
        );
        check(notes.length === 1 && notes[0].pitchMidi === 69, `${notes.length} notes`);
        return [...numbers(notes), ...numbers(frames), ...numbers(onsets)];
      };
    },
  },
  ...DETECTORS,
  ...IMAGE_MODELS,
  ...TEXT_MODELS,
  ...Object.fromEntries(
    Object.entries(FACES).map(([name, { file, tell }]): [string, Case] => [`face-api's ${name}`, {
      found: "npm:@vladmandic/face-api@1.7.15/package.json",
      entry: "dist/face-api.esm-nobundle.js",
      async open(faces, tf, folder) {
        const [{ weights }] = await json(folder, `model/${file}-weights_manifest.json`);
        const bytes = await read(folder, `model/${file}.bin`);
        const net = faces.nets[name];
        net.loadFromWeightMap(tf.io.decodeWeights(bytes.buffer, weights));
        const picture = image(tf, 150);
        return async () => numbers(await tell(net, picture));
      },
    }]),
  ),
};

async function folderOf({ found }: Case): Promise<URL> {
  // Deno resolves what it has imported to a file, also where the package then asks for folders, which Deno refuses.
  await import(found, found.endsWith(".json") ? { with: { type: "json" } } : {}).catch(() => {});
  return new URL(".", import.meta.resolve(found));
}

/** Returns the code that imports packages, all of them if no names are given, with TensorFlow.js as they see it. */
export async function importing(names: readonly string[] = Object.keys(PACKAGES)): Promise<string> {
  const lines = [`export * as tf from "@tensorflow/tfjs";`];
  for (const [i, name] of Object.keys(PACKAGES).entries()) {
    if (!names.includes(name)) continue;
    const made = PACKAGES[name];
    const path = fromFileUrl(new URL(made.entry, await folderOf(made)));
    lines.push(`export * as p${i} from ${JSON.stringify(path)};`);
  }
  return lines.join("\n");
}

/** Makes a package of a bundle ready to be asked. */
export async function open(bundle: Any, name: string): Promise<() => Promise<ArrayLike<number>>> {
  const made = PACKAGES[name], at = Object.keys(PACKAGES).indexOf(name);
  return await made.open(bundle[`p${at}`], bundle.tf, await folderOf(made));
}

/** Asks a package of a bundle. */
export async function ask(bundle: Any, name: string): Promise<ArrayLike<number>> {
  return await (await open(bundle, name))();
}

/** A request to the worker. */
interface Asked {
  readonly bundle: string;
  readonly name: string;
}

const scope = globalThis as Any;
if (scope.WorkerGlobalScope !== undefined && scope instanceof scope.WorkerGlobalScope) {
  scope.onmessage = async ({ data: { bundle, name } }: { data: Asked }) => {
    const loaded = await import(bundle);
    loaded.tf.enableProdMode();
    await loaded.tf.setBackend("cpu");
    const told = await ask(loaded, name).catch((error) => `${name}: ${error.stack}`);
    scope.postMessage(typeof told === "string" ? told : [...told as number[]]);
  };
}
