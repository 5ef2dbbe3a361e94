/**
 * Ops on boxes that only files have: the best of several classes, by given overlaps, and drawn outlines. On the host.
 */
import { InvalidArgumentError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { defineOp } from "../../engine/core/op.ts";
import { mergeShapes, type PartialShape } from "../../engine/core/shape.ts";
import { knownInts } from "../../engine/ops/array/view.ts";
import { refuse, wholeArray } from "../../engine/ops/host/arrays.ts";
import { overlapOf, suppress } from "../../engine/kernels/host/image/boxes.ts";

defineOp({
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

defineOp({
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

for (const colours of [[], ["colors: float32"]]) {
  const name = colours.length === 0 ? "DrawBoundingBoxes" : "DrawBoundingBoxesV2";
  defineOp({
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
}
