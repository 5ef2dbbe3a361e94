/** Packages of `@tensorflow-models` that find faces, hands, bodies and depths, over small graphs of random weights. */

import type { Any } from "../script/helpers.ts";
import { type Case, check, imageGraph, meanGraph, numbers, picture, served } from "./graphs.ts";

const HUB = "https://tfhub.dev/mediapipe/tfjs-model";

/** Mean of an array's elements. */
const mean = (values: ArrayLike<number>) =>
  Array.from(values).reduce((a, b) => a + b, 0) / values.length;

/** The packages by name. */
export const DETECTORS: Readonly<Record<string, Case>> = {
  blazeface: {
    found: "npm:@tensorflow-models/blazeface@0.1.0/package.json",
    entry: "dist/index.js",
    async open(blazeface, tf) {
      const graph = await meanGraph(tf, { faces: { shape: [1, 896, 17], scale: 4000, bias: 4 } });
      const model = await blazeface.load({ modelUrl: tf.io.fromMemory(graph) });
      const image = picture(tf, 60, 90);
      return async () => {
        const found = await model.estimateFaces(image, false, true);
        check(found.length > 1, `${found.length} faces`);
        const tensors = await model.estimateFaces(image, true);
        const read = await Promise.all(
          tensors.flatMap((face: Any) => Object.values(face)).map((t: Any) => t.data()),
        );
        return [found.length, ...numbers(found), ...numbers(read)];
      };
    },
  },
  handpose: {
    found: "npm:@tensorflow-models/handpose@0.1.0/package.json",
    entry: "dist/index.js",
    open: async (handpose, tf) =>
      await served(tf, {
        [`${HUB}/handdetector/1/default/1`]: await meanGraph(tf, {
          palms: { shape: [1, 2944, 19], scale: 400 },
        }),
        [`${HUB}/handskeleton/1/default/1`]: await meanGraph(tf, {
          flag: { shape: [1, 1], scale: 0.1, bias: 0.9 },
          points: { shape: [1, 63], scale: 200, bias: 128 },
        }),
        [`${HUB}/handskeleton/1/default/1/anchors.json`]: Array.from({ length: 2944 }, (_, i) => ({
          x_center: (i % 64) / 64,
          y_center: Math.floor(i / 64) / 46,
        })),
      }, async () => {
        const model = await handpose.load(), image = picture(tf, 60, 90);
        return async () => {
          // The second call begins with what the first found, and leaves nothing behind.
          const first = await model.estimateHands(image);
          const second = await model.estimateHands(image, true);
          check(first.length === 1 && second.length === 1, "no hand");
          model.pipeline.regionsOfInterest.length = 0;
          return numbers([first, second]);
        };
      }),
  },
  "pose-detection": {
    found: "npm:@tensorflow-models/pose-detection@2.1.3/package.json",
    entry: "dist/index.js",
    async open(poses, tf) {
      const { createDetector, movenet, SupportedModels, TrackerType } = poses;
      const load = async (heads: Any, seed: number) =>
        tf.io.fromMemory(await meanGraph(tf, heads, { dtype: "DT_INT32", seed }));
      const single = await createDetector(SupportedModels.MoveNet, {
        modelType: movenet.modelType.SINGLEPOSE_LIGHTNING,
        modelUrl: await load({ poses: { shape: [1, 1, 17, 3], scale: 0.003, bias: 0.6 } }, 3),
      });
      const many = await createDetector(SupportedModels.MoveNet, {
        modelType: movenet.modelType.MULTIPOSE_LIGHTNING,
        enableTracking: true,
        trackerType: TrackerType.BoundingBox,
        modelUrl: await load({ poses: { shape: [1, 6, 56], scale: 0.003, bias: 0.6 } }, 4),
      });
      const blaze = await createDetector(SupportedModels.BlazePose, {
        runtime: "tfjs",
        modelType: "lite",
        enableSegmentation: true,
        detectorModelUrl: tf.io.fromMemory(
          await meanGraph(tf, { poses: { shape: [1, 2254, 13], scale: 100, bias: 3 } }),
        ),
        landmarkModelUrl: tf.io.fromMemory(
          await meanGraph(tf, {
            ld_3d: { shape: [1, 195], scale: 50, bias: 120 },
            output_poseflag: { shape: [1, 1], scale: 0.1, bias: 0.9 },
            activation_heatmap: { shape: [1, 64, 64, 39], scale: 5 },
            world_3d: { shape: [1, 117], scale: 1 },
            activation_segmentation: { shape: [1, 256, 256, 1], scale: 4 },
          }),
        ),
      });
      // Poses are followed from picture to picture.
      let time = 0;
      const [wide, high] = [picture(tf, 60, 90), picture(tf, 90, 60)];
      return async () => {
        const told: unknown[] = [], times = [time, time + 40];
        for (const at of times) {
          told.push(await single.estimatePoses(wide, {}, at));
        }
        for (const at of times) {
          told.push(await many.estimatePoses(high, {}, at));
        }
        const [body] = await blaze.estimatePoses(wide, {}, time);
        time += 80;
        // The noise of one picture is no place to look for a body in the next.
        blaze.reset();
        const { segmentation, ...rest } = body;
        const mask = await (await segmentation.mask.toTensor()).data();
        return [...numbers(told), ...numbers(rest), mean(mask)];
      };
    },
  },
  "body-segmentation": {
    found: "npm:@tensorflow-models/body-segmentation@1.0.2/package.json",
    entry: "dist/index.js",
    async open({ createSegmenter, SupportedModels, toBinaryMask }, tf) {
      const modelUrl = await imageGraph(tf, { maps: 2 }, { stride: 1 });
      const model = SupportedModels.MediaPipeSelfieSegmentation;
      const segmenter = await createSegmenter(model, { runtime: "tfjs", modelUrl });
      const image = picture(tf, 60, 90);
      return async () => {
        const people = await segmenter.segmentPeople(image);
        const mask = await people[0].mask.toTensor();
        // Its masks for drawing are images, which pages have.
        check(people.length === 1 && typeof toBinaryMask === "function", "nobody");
        return [...mask.shape, ...await mask.data()];
      };
    },
  },
  "depth-estimation": {
    found: "npm:@tensorflow-models/depth-estimation@0.0.4/package.json",
    entry: "dist/index.js",
    async open({ createEstimator, SupportedModels }, tf) {
      const estimator = await createEstimator(SupportedModels.ARPortraitDepth, {
        segmentationModelUrl: await imageGraph(tf, { maps: 2 }, { stride: 1 }),
        depthModelUrl: await imageGraph(tf, { depth: 1 }, { stride: 4 }),
      });
      const image = picture(tf, 60, 90);
      return async () => {
        const depth = await estimator.estimateDepth(image, {
          minDepth: 0,
          maxDepth: 1,
        });
        return numbers(await depth.toArray());
      };
    },
  },
  deeplab: {
    found: "npm:@tensorflow-models/deeplab@0.2.2/package.json",
    entry: "dist/index.js",
    async open(deeplab, tf) {
      const modelUrl = await imageGraph(tf, { maps: 21 }, { dtype: "DT_INT32", largest: true });
      const model = await deeplab.load({ base: "pascal", quantizationBytes: 2, modelUrl });
      const image = picture(tf, 60, 90);
      return async () => {
        const { legend, height, width, segmentationMap } = await model.segment(image);
        return [height, width, ...numbers(legend), mean(segmentationMap)];
      };
    },
  },
};
