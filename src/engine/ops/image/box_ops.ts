/**
 * Boxes of several classes, by given overlaps, and drawn outlines. On the host.
 */
import { apply, apply1 } from "../../core/apply.ts";
import { optionCheck, wantNumber } from "../../core/arguments.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { floatScalar, toFloatInput, toIndexInput } from "../input.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { mergeShapes, type PartialShape } from "../../core/shape.ts";
import { knownInts } from "../array/view.ts";
import { refuse, wholeArray } from "../host/arrays.ts";
import { overlapOf, suppress } from "../../kernels/host/image/boxes.ts";

export const NonMaxSuppressionWithOverlaps: OpDef = defineOp({
  name: "NonMaxSuppressionWithOverlaps",
  inputs: [
    "overlaps: float32",
    "scores: float32",
    "max_output_size: int32",
    "overlap_threshold: float32",
    "score_threshold: float32",
  ],
  outputs: ["selected_indices: int32"],
  infer: ([overlaps, scores]) => {
    const [rows, columns] = mergeShapes(overlaps.shape, [null, null])!;
    mergeShapes(mergeShapes([rows], [columns]), scores.shape);
    return [[null]];
  },
  grad: null,
  cpu: ([overlaps, scores, most, threshold, least]) => {
    const shared = overlaps.data as Float32Array, count = overlaps.shape[0];
    const { indices } = suppress((i, j) => shared[i * count + j], scores.data as Float32Array, {
      most: Number(most.item()),
      iouThreshold: Number(threshold.item()),
      scoreThreshold: Number(least.item()),
      softSigma: 0,
    });
    return [wholeArray("int32", indices)];
  },
});

/** Returns the number of boxes per item in the result; null if unknown. */
function slots(
  { perClass, total, classes, padPerClass }: {
    readonly perClass: number | undefined;
    readonly total: number | undefined;
    readonly classes: number | null;
    readonly padPerClass: boolean;
  },
): number | null {
  for (
    const [name, value] of Object.entries({ max_size_per_class: perClass, max_total_size: total })
  ) {
    if (value === undefined || value > 0) continue;
    throw new InvalidArgumentError(`${name} must be > 0, received ${value}`, {
      op: "CombinedNonMaxSuppression",
    });
  }
  if (total === undefined || !padPerClass) return total ?? null;
  return perClass === undefined || classes === null ? null : Math.min(total, perClass * classes);
}

export const CombinedNonMaxSuppression: OpDef = defineOp({
  name: "CombinedNonMaxSuppression",
  inputs: [
    "boxes: float32",
    "scores: float32",
    "max_output_size_per_class: int32",
    "max_total_size: int32",
    "iou_threshold: float32",
    "score_threshold: float32",
  ],
  outputs: [
    "nmsed_boxes: float32",
    "nmsed_scores: float32",
    "nmsed_classes: float32",
    "valid_detections: int32",
  ],
  attrs: ["pad_per_class: bool = false", "clip_boxes: bool = true"],
  hostInputs: ["max_output_size_per_class", "max_total_size"],
  infer: ([boxes, scores, perClass, total], { pad_per_class: padPerClass }): PartialShape[] => {
    const of = mergeShapes(boxes.shape, [null, null, null, 4])!;
    const marks = mergeShapes(scores.shape, [of[0], of[1], null])!;
    if (of[2] !== null && of[2] !== 1) mergeShapes([of[2]], [marks[2]]);
    const [most, all] = [perClass, total].map((v) => knownInts(v)?.[0]);
    const size = slots({ perClass: most, total: all, classes: marks[2], padPerClass });
    const batch = marks[0] ?? of[0];
    return [[batch, size, 4], [batch, size], [batch, size], [batch]];
  },
  grad: null,
  cpu: ([boxes, scores, perClass, total, iou, least], _, { attrs }) => {
    const [batch, count, sets] = boxes.shape, classes = scores.shape[2];
    const frames = boxes.data as Float32Array, given = scores.data as Float32Array;
    const most = Number(perClass.item()), iouThreshold = Number(iou.item());
    if (!(iouThreshold >= 0 && iouThreshold <= 1)) {
      refuse(`iou_threshold must be in [0, 1], received ${iouThreshold}`);
    }
    const size = slots({
      perClass: most,
      total: Number(total.item()),
      classes,
      padPerClass: attrs.pad_per_class,
    })!;
    const outputs = [[batch, size, 4], [batch, size], [batch, size]].map((shape) =>
      NdArray.zeros("float32", shape)
    );
    const valid = NdArray.zeros("int32", [batch]), overlap = overlapOf(frames);
    const [places, marks, kinds] = outputs.map((x) => x.data as Float32Array);
    for (let b = 0; b < batch; b++) {
      const kept = Array.from({ length: classes }, (_, kind) => {
        const box = (i: number): number => (b * count + i) * sets + (sets > 1 ? kind : 0);
        const own = Float32Array.from(
          { length: count },
          (_, i) => given[(b * count + i) * classes + kind],
        );
        const { indices } = suppress((i, j) => overlap(box(i), box(j)), own, {
          most,
          iouThreshold,
          scoreThreshold: Number(least.item()),
          softSigma: 0,
        });
        return indices.map((i) => ({ at: 4 * box(i), score: own[i], kind }));
      }).flat();
      const best = kept.sort((x, y) => y.score - x.score).slice(0, size);
      (valid.data as Int32Array)[b] = best.length;
      best.forEach(({ at, score, kind }, k) => {
        const slot = b * size + k, frame = frames.subarray(at, at + 4);
        const ends = attrs.clip_boxes ? frame.map((v) => Math.max(Math.min(v, 1), 0)) : frame;
        places.set(ends, 4 * slot);
        marks[slot] = score;
        kinds[slot] = kind;
      });
    }
    return [...outputs, valid];
  },
});

/** TensorFlow's colours for boxes: red, green, blue and opacity. */
const COLOURS = [
  [1, 1, 0, 1],
  [0, 0, 1, 1],
  [1, 0, 0, 1],
  [0, 1, 0, 1],
  [0.5, 0, 0.5, 1],
  [0.5, 0.5, 0, 1],
  [0.5, 0, 0, 1],
  [0, 0, 0.5, 1],
  [0, 1, 1, 1],
  [1, 0, 1, 1],
];

/** Draws the outlines of boxes; empty boxes, and those outside, are skipped. */
function draw(images: NdArray, boxes: NdArray, { colours, out }: {
  readonly colours: readonly ArrayLike<number>[];
  readonly out: NdArray;
}): void {
  const [batch, height, width, depth] = images.shape, count = boxes.shape[1];
  const canvas = out.data as Float32Array, ends = boxes.data as Float32Array;
  canvas.set(images.data as Float32Array);
  for (let k = 0; k < batch * count; k++) {
    const [top, left, bottom, right] = [0, 1, 2, 3].map((i) =>
      Math.trunc(Math.fround(ends[4 * k + i] * ((i % 2 === 0 ? height : width) - 1)))
    );
    const isInside = top < height && bottom >= 0 && left < width && right >= 0;
    if (!isInside || top > bottom || left > right) continue;
    const colour = colours[k % count % colours.length], image = Math.floor(k / count) * height;
    const dot = (y: number, x: number): void => {
      if (y < 0 || y >= height || x < 0 || x >= width) return;
      const at = ((image + y) * width + x) * depth;
      for (let c = 0; c < depth; c++) canvas[at + c] = colour[c];
    };
    for (let x = Math.max(left, 0); x <= Math.min(right, width - 1); x++) {
      dot(top, x), dot(bottom, x);
    }
    for (let y = Math.max(top, 0); y <= Math.min(bottom, height - 1); y++) {
      dot(y, left), dot(y, right);
    }
  }
}

/** `DrawBoundingBoxes`, and its second version, which takes colours. */
export const DRAWN_BOXES: readonly OpDef[] = [[], ["colors: float32"]]
  .map((colours): OpDef => {
    const name = colours.length === 0 ? "DrawBoundingBoxes" : "DrawBoundingBoxesV2";
    return defineOp({
      name,
      inputs: ["images: T", "boxes: float32", ...colours],
      outputs: ["output: T"],
      attrs: ["T: {float32, float16} = float32"],
      infer: ([images, boxes, colors]) => {
        const of = mergeShapes(images.shape, [null, null, null, null])!;
        mergeShapes(boxes.shape, [of[0], null, 4]);
        if (colors) mergeShapes(colors.shape, [null, null]);
        return [of];
      },
      grad: null,
      cpu: ([images, boxes, colors], [out]) => {
        const depth = images.shape[3];
        if (![1, 3, 4].includes(depth)) {
          refuse(`Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA), received ${depth}`);
        }
        if (colors && colors.shape[1] < depth) {
          refuse(
            `colors must have equal or more channels than the image provided: [${colors.shape}] for ${depth}`,
          );
        }
        const [rows, each] = colors?.shape ?? [0, 0];
        const given = Array.from(
          { length: rows },
          (_, i) => (colors.data as Float32Array).subarray(i * each, (i + 1) * each),
        );
        const grey = COLOURS.map(([, ...rest]) => [1, ...rest]);
        draw(images, boxes, {
          colours: given.length > 0 ? given : depth === 1 ? grey : COLOURS,
          out,
        });
      },
    });
  });

/**
 * Draws the outlines of boxes `[batch, n, 4]`, as `[y1, x1, y2, x2]` in parts of height and width, on images `[batch, height, width, depth]`;
 * float32 or float16. `colors` are rows of `depth` numbers, taken in turn; default TensorFlow's ten. Throws `ValueError` for shapes that do not
 * fit. TensorFlow op `DrawBoundingBoxesV2`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const y = tf.image.drawBoundingBoxes(tf.zeros([1, 3, 3, 1]), [[[0, 0, 1, 1]]], [[1]]);
 * console.log(Array.from(y.dataSync())); // [1, 1, 1, 1, 0, 1, 1, 1, 1]
 * ```
 */
export function drawBoundingBoxes(
  images: TensorLike,
  boxes: TensorLike,
  colors: TensorLike | null = null,
): Tensor {
  const fn = "drawBoundingBoxes";
  const inputs = [toFloatInput(images, "images", fn), toFloatInput(boxes, "boxes", fn)];
  return colors === null
    ? apply1(DRAWN_BOXES[0], inputs)
    : apply1(DRAWN_BOXES[1], [...inputs, toFloatInput(colors, "colors", fn)]);
}

/**
 * Indices of the boxes to keep, best score first: a box is dropped that overlaps a kept one by more than a threshold, as the square matrix
 * `overlaps` says. int32; their number is known at run time. TensorFlow op `NonMaxSuppressionWithOverlaps`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const kept = tf.image.nonMaxSuppressionOverlaps([[1, 0.9], [0.9, 1]], [0.5, 0.75], 2);
 * console.log(kept.arraySync()); // [1]
 * ```
 */
export function nonMaxSuppressionOverlaps(
  overlaps: TensorLike,
  scores: TensorLike,
  maxOutputSize: number,
  overlapThreshold = 0.5,
  scoreThreshold: number = -Infinity,
): Tensor {
  const fn = "nonMaxSuppressionOverlaps";
  wantNumber(overlapThreshold, "overlapThreshold", fn);
  wantNumber(scoreThreshold, "scoreThreshold", fn);
  return apply1(NonMaxSuppressionWithOverlaps, [
    toFloatInput(overlaps, "overlaps", fn),
    toFloatInput(scores, "scores", fn),
    toIndexInput(maxOutputSize, "maxOutputSize", fn),
    floatScalar(overlapThreshold),
    floatScalar(scoreThreshold),
  ]);
}

/** Options of {@linkcode combinedNonMaxSuppression}. */
export interface CombinedOptions {
  /** Boxes that overlap a better one by more are dropped. Default 0.5. */
  readonly iouThreshold?: number;
  /** Boxes of lower score are left out. Default none. */
  readonly scoreThreshold?: number;
  /** Pad to the number of boxes per class times classes where that is less than the total. Default false. */
  readonly padPerClass?: boolean;
  /** Clip boxes to `[0, 1]`. Default true. */
  readonly clipBoxes?: boolean;
}

const checkCombined = optionCheck<CombinedOptions>("combinedNonMaxSuppression", {
  iouThreshold: true,
  scoreThreshold: true,
  padPerClass: true,
  clipBoxes: true,
});

/** Boxes kept of several classes, padded with zeros. */
export interface CombinedBoxes {
  /** `[batch, n, 4]`. */
  readonly boxes: Tensor;
  /** `[batch, n]`. */
  readonly scores: Tensor;
  /** `[batch, n]`, float32. */
  readonly classes: Tensor;
  /** Number of boxes that are no padding: int32 `[batch]`. */
  readonly validDetections: Tensor;
}

/**
 * Keeps the best boxes of each class, and of these the best ones of all classes. Boxes are `[batch, n, classes or 1, 4]`, scores
 * `[batch, n, classes]`. Throws `ValueError` for shapes that do not fit. TensorFlow op `CombinedNonMaxSuppression`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const boxes = [[[[0, 0, 1, 1]], [[0, 0, 1, 0.9]]]], scores = [[[0.5], [0.75]]];
 * const kept = tf.image.combinedNonMaxSuppression(boxes, scores, 2, 2);
 * console.log([kept.validDetections.arraySync(), kept.scores.arraySync()]); // [[1], [[0.75, 0]]]
 * ```
 */
export function combinedNonMaxSuppression(
  boxes: TensorLike,
  scores: TensorLike,
  maxOutputSizePerClass: number,
  maxTotalSize: number,
  options: CombinedOptions = {},
): CombinedBoxes {
  checkCombined(options);
  const { iouThreshold = 0.5, scoreThreshold = -Infinity } = options;
  const fn = "combinedNonMaxSuppression";
  const [kept, marks, classes, validDetections] = apply(CombinedNonMaxSuppression, [
    toFloatInput(boxes, "boxes", fn),
    toFloatInput(scores, "scores", fn),
    toIndexInput(maxOutputSizePerClass, "maxOutputSizePerClass", fn),
    toIndexInput(maxTotalSize, "maxTotalSize", fn),
    floatScalar(iouThreshold),
    floatScalar(scoreThreshold),
  ], { pad_per_class: options.padPerClass ?? false, clip_boxes: options.clipBoxes ?? true });
  return { boxes: kept, scores: marks, classes, validDetections };
}
