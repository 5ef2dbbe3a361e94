/** Boxes that a network proposes, part of the namespace `tf.image`. On the host. */
import { apply } from "../../core/apply.ts";
import { optionCheck, wantNumber } from "../../core/arguments.ts";
import { ValueError } from "../../core/errors.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { mergeShapes, type PartialShape } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { overlapOf, suppress } from "../../kernels/host/image/boxes.ts";
import { refuse } from "../host/arrays.ts";
import { floatScalar, intScalar, toFloatInput } from "../input.ts";

/** The largest logarithm of how much a box may grow. */
const MOST_GROWTH = Math.fround(Math.log(1000 / 16));

/** Moves and scales an anchor, and cuts it to its image. */
function boxOf(
  anchor: ArrayLike<number>,
  delta: ArrayLike<number>,
  size: readonly number[],
): number[] {
  const ends = [0, 1].map((axis) => {
    const extent = anchor[axis + 2] - anchor[axis], middle = anchor[axis] + extent / 2;
    const moved = middle + extent * delta[axis];
    const grown = extent * Math.exp(Math.min(delta[axis + 2], MOST_GROWTH));
    return [moved - grown / 2, moved + grown / 2].map((v) =>
      Math.fround(Math.max(Math.min(v, size[axis]), 0))
    );
  });
  return [ends[0][0], ends[1][0], ends[0][1], ends[1][1]];
}

export const GenerateBoundingBoxProposals: OpDef = defineOp({
  name: "GenerateBoundingBoxProposals",
  inputs: [
    "scores: float32",
    "bbox_deltas: float32",
    "image_info: float32",
    "anchors: float32",
    "nms_threshold: float32",
    "pre_nms_topn: int32",
    "min_size: float32",
  ],
  outputs: ["rois: float32", "roi_probabilities: float32"],
  attrs: ["post_nms_topn: int = 300"],
  infer: ([scores, deltas, info, anchors], { post_nms_topn: most }): PartialShape[] => {
    const [images, height, width, count] = mergeShapes(scores.shape, [null, null, null, null])!;
    const edges = count === null ? null : 4 * count;
    mergeShapes(deltas.shape, [images, height, width, edges]);
    mergeShapes(anchors.shape, [height, width, edges]);
    mergeShapes(info.shape, [images, 5]);
    if (!(most > 0)) throw new ValueError(`post_nms_topn must be above 0, received ${most}`);
    return [[images, most, 4], [images, most]];
  },
  grad: null,
  cpu: ([scores, deltas, info, anchors, threshold, most, least], outputs, { attrs }) => {
    const iouThreshold = Number(threshold.item()), first = Number(most.item());
    if (!(iouThreshold >= 0 && iouThreshold <= 1)) {
      refuse(`nms_threshold should be between 0 and 1, received ${iouThreshold}`);
    }
    if (!(first > 0)) refuse(`pre_nms_topn should be greater than 0, received ${first}`);
    const count: number = attrs.post_nms_topn, [images] = scores.shape;
    const each = scores.size / Math.max(1, images);
    const [given, moves, sizes, all] = [scores, deltas, info, anchors].map((x: NdArray) =>
      x.data as Float32Array
    );
    const [rois, marks] = outputs.map((x) => (x.data as Float32Array).fill(0));
    for (let b = 0; b < images; b++) {
      const size = sizes.subarray(5 * b, 5 * b + 5), shortest = Number(least.item()) * size[2];
      const own = given.subarray(b * each, (b + 1) * each);
      const order = Array.from(own, (_, i) => i).sort((i, j) => own[j] - own[i]).slice(0, first);
      const boxes = order.map((i) => ({
        score: own[i],
        ends: boxOf(
          all.subarray(4 * i, 4 * i + 4),
          moves.subarray(4 * (b * each + i), 4 * (b * each + i) + 4),
          [size[0], size[1]],
        ),
      })).filter(({ ends: [top, left, bottom, right] }) =>
        Math.min(right - left, bottom - top) >= shortest
      );
      const frames = Float32Array.from(boxes.flatMap(({ ends }) => ends));
      const overlap = overlapOf(frames);
      const { indices } = suppress(
        overlap,
        boxes.map(({ score }) => score),
        { most: count, iouThreshold, scoreThreshold: -Infinity, softSigma: 0 },
      );
      indices.forEach((i, k) => {
        rois.set(boxes[i].ends, 4 * (b * count + k));
        marks[b * count + k] = boxes[i].score;
      });
    }
  },
});

/** Options of {@linkcode generateBoundingBoxProposals}. */
export interface ProposalOptions {
  /** Boxes that overlap a better one by more are dropped. Default 0.7. */
  readonly nmsThreshold?: number;
  /** So many boxes of the best scores are looked at. Default 6000. */
  readonly preNmsTopn?: number;
  /** Boxes with a shorter side, times the scale of their image, are dropped. Default 16. */
  readonly minSize?: number;
  /** The number of boxes that are returned. Default 300. */
  readonly postNmsTopn?: number;
}

const check = optionCheck<ProposalOptions>("image.generateBoundingBoxProposals", {
  nmsThreshold: true,
  preNmsTopn: true,
  minSize: true,
  postNmsTopn: true,
});

/**
 * The best boxes that a network proposes, as of S. Ren et al., "Faster R-CNN" (2015): anchors `[height, width, 4 · n]`, each
 * `[y1, x1, y2, x2]`, are moved and scaled by `bboxDeltas` `[images, height, width, 4 · n]`, each `[dy, dx, dh, dw]`, cut to their image, and
 * dropped where they overlap one of a better score in `scores` `[images, height, width, n]`. `imageInfo` `[images, 5]` has height, width and
 * scale of each image. Returns boxes `[images, postNmsTopn, 4]` and their scores, best first, with zeros behind. Throws `ValueError` for
 * shapes and options that do not fit. TensorFlow op `GenerateBoundingBoxProposals`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const anchors = [[[0, 0, 20, 20, 0, 0, 20, 30]]];
 * const [rois] = tf.image.generateBoundingBoxProposals([[[[0.5, 0.9]]]], tf.zeros([1, 1, 1, 8]), [[50, 50, 1, 0, 0]], anchors, { postNmsTopn: 1 });
 * console.log(await rois.array()); // [[[0, 0, 20, 30]]]
 * ```
 */
export function generateBoundingBoxProposals(
  scores: TensorLike,
  bboxDeltas: TensorLike,
  imageInfo: TensorLike,
  anchors: TensorLike,
  options: ProposalOptions = {},
): [rois: Tensor, roiProbabilities: Tensor] {
  const fn = "image.generateBoundingBoxProposals";
  check(options);
  const { nmsThreshold = 0.7, preNmsTopn = 6000, minSize = 16, postNmsTopn = 300 } = options;
  const numbers = { nmsThreshold, preNmsTopn, minSize, postNmsTopn };
  for (const [name, value] of Object.entries(numbers)) wantNumber(value, name, fn);
  const isCounted = [preNmsTopn, postNmsTopn].every((n) => Number.isInteger(n) && n > 0);
  if (!isCounted || !(nmsThreshold >= 0 && nmsThreshold <= 1)) {
    throw new ValueError(
      `Cannot apply ${fn}: wanted a threshold from 0 to 1 and whole numbers of boxes from 1 on, received ${nmsThreshold}, ${preNmsTopn} and ${postNmsTopn}`,
    );
  }
  const inputs = [
    toFloatInput(scores, "scores", fn),
    toFloatInput(bboxDeltas, "bboxDeltas", fn),
    toFloatInput(imageInfo, "imageInfo", fn),
    toFloatInput(anchors, "anchors", fn),
    floatScalar(nmsThreshold),
    intScalar(preNmsTopn),
    floatScalar(minSize),
  ];
  const out = apply(GenerateBoundingBoxProposals, inputs, { post_nms_topn: postNmsTopn });
  return [out[0], out[1]];
}
