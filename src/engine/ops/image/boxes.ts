/** Non-maximum suppression of boxes; computed on the host. */
import { wantNumber } from "../../core/arguments.ts";
import { apply, apply1, type OpInput } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { type Attrs, defineOp, type OpDef } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import { type PartialShape, shapeText } from "../../core/shape.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import { type Kept, overlapOf, suppress } from "../../kernels/host/image/boxes.ts";
import { floatScalar, intScalar, shapeOfInput, toIndexInput, toInput } from "../input.ts";

function keep(ins: readonly NdArray[], { tfjs }: Attrs): Kept {
  const [boxes, scores, most, iou, score, sigma] = ins;
  return suppress(overlapOf(boxes.data as Float32Array), scores.data as Float32Array, {
    most: Number(most.item()),
    iouThreshold: Number(iou.item()),
    scoreThreshold: Number(score.item()),
    softSigma: sigma ? Number(sigma.item()) : 0,
    tfjs,
  });
}

/** Returns a list, padded with zeros if requested. */
function listed(
  dtype: DType,
  values: readonly number[],
  { ins, attrs }: { readonly ins: readonly NdArray[]; readonly attrs: Attrs },
): NdArray {
  const most = Number(ins[2].item()), padding = attrs.tfjs ? Math.min(most, ins[1].size) : most;
  const size = attrs.pad_to_max_output_size ? Math.max(values.length, padding) : values.length;
  const out = NdArray.zeros(dtype, [size]);
  (out.data as Float32Array).set(values);
  return out;
}

/**
 * The third version returns indices; the fourth pads them and returns the number of valid ones; the fifth softens and
 * returns scores.
 */
function defineSuppression(version: 3 | 4 | 5): OpDef {
  const threshold = version === 5 ? "T" : "T_threshold";
  const ifScores = <V>(x: V): V[] => version === 5 ? [x] : [];
  const ifPadded = <V>(x: V): V[] => version === 3 ? [] : [x];
  return defineOp({
    name: `NonMaxSuppressionV${version}`,
    // TensorFlow's op stands for both.
    portable: { without: { tfjs: () => true } },
    inputs: [
      "boxes: T",
      "scores: T",
      "max_output_size: int32",
      `iou_threshold: ${threshold}`,
      `score_threshold: ${threshold}`,
      ...ifScores("soft_nms_sigma: T"),
    ],
    outputs: [
      "selected_indices: int32",
      ...ifScores("selected_scores: T"),
      ...ifPadded("valid_outputs: int32"),
    ],
    attrs: [
      "T: {float16, float32}",
      ...(version === 5 ? [] : ["T_threshold: {float16, float32}"]),
      // True for TensorFlow.js's behaviour, which drops boxes whose overlap equals the threshold, also with softened
      // scores, and pads to at most the number of boxes.
      "tfjs: bool = false",
      ...ifPadded("pad_to_max_output_size: bool = false"),
    ],
    infer: () => [[null], ...ifScores([null]), ...ifPadded([])],
    grad: null,
    cpu: (ins, _, { attrs }) => {
      const { indices, scores } = keep(ins, attrs);
      return [
        listed("int32", indices, { ins, attrs }),
        ...ifScores(listed(ins[1].dtype, scores, { ins, attrs })),
        ...ifPadded(intScalar(indices.length)),
      ];
    },
  });
}

/** Suppresses boxes that overlap better ones, at most a number of them. */
export const NonMaxSuppressionV3: OpDef = defineSuppression(3);
const NonMaxSuppressionV4 = defineSuppression(4);
const NonMaxSuppressionV5 = defineSuppression(5);

/** Maximum number of boxes, and the thresholds of overlaps and scores. */
type Limits = readonly [
  most: number,
  iouThreshold: number | null | undefined,
  scoreThreshold: number | null | undefined,
];

/** Common inputs of the three ops. */
function boxInputs(
  fn: string,
  boxes: TensorLike,
  scores: TensorLike,
  [most, iouThreshold, scoreThreshold]: Limits,
): OpInput[] {
  const frames = toInput(boxes, "boxes", fn);
  const marks = toInput(scores, "scores", fn);
  const iou = iouThreshold ?? 0.5, score = scoreThreshold ?? -Infinity;
  wantNumber(iou, "iouThreshold", fn);
  wantNumber(score, "scoreThreshold", fn);
  checkBoxes(fn, shapeOfInput(frames), shapeOfInput(marks), iou);
  const count = toIndexInput(most, "maxOutputSize", fn);
  return [frames, marks, count, floatScalar(iou), floatScalar(score)];
}

function checkBoxes(fn: string, boxes: PartialShape, scores: PartialShape, iou: number): void {
  if (!(iou >= 0 && iou <= 1)) {
    throw new ValueError(`Error in ${fn}: iouThreshold must be in [0, 1], but was '${iou}'`);
  }
  if (boxes && (boxes.length !== 2 || (boxes[1] !== null && boxes[1] !== 4))) {
    throw new ValueError(
      `Error in ${fn}: boxes must have shape [n, 4], but have ${shapeText(boxes)}`,
    );
  }
  const count = boxes?.[0] ?? null;
  if (
    scores && (scores.length !== 1 || (count !== null && scores[0] !== null && scores[0] !== count))
  ) {
    throw new ValueError(
      `Error in ${fn}: scores has incompatible shape with boxes. Expected ${count}, but was ${
        shapeText(scores)
      }`,
    );
  }
}

/** Reads a tensor to the host, so that a host op can follow without waiting. */
async function onHost(x: TensorLike): Promise<TensorLike> {
  return x instanceof Tensor && !x.isSymbolic ? await x.readValue().ndarray() : x;
}

/**
 * Returns the indices of the boxes `[y1, x1, y2, x2]` to keep, best score first: a box that overlaps a kept one by
 * `iouThreshold` or more is dropped. int32; their number is known at run time. Throws `ValueError` for shapes that do
 * not fit, `TypeError` for boxes and scores that are not floats. TensorFlow op `NonMaxSuppressionV3`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const boxes = [[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]];
 * console.log(tf.image.nonMaxSuppression(boxes, [0.6, 0.9, 0.5], 3).arraySync()); // [1, 2]
 * ```
 */
export function nonMaxSuppression(
  boxes: TensorLike,
  scores: TensorLike,
  maxOutputSize: number,
  iouThreshold: number | null = 0.5,
  scoreThreshold: number | null = -Infinity,
): Tensor {
  const limits = [maxOutputSize, iouThreshold, scoreThreshold] as const;
  return apply1(NonMaxSuppressionV3, boxInputs("nonMaxSuppression", boxes, scores, limits), {
    tfjs: true,
  });
}

/**
 * Does the same as {@linkcode nonMaxSuppression} for boxes that cannot be read synchronously.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const kept = await tf.image.nonMaxSuppressionAsync([[0, 0, 1, 1]], [0.5], 1);
 * console.log(kept.arraySync()); // [0]
 * ```
 */
export async function nonMaxSuppressionAsync(
  ...[boxes, scores, ...limits]: Parameters<typeof nonMaxSuppression>
): Promise<Tensor> {
  return nonMaxSuppression(await onHost(boxes), await onHost(scores), ...limits);
}

/** Boxes kept, with their scores. */
export interface ScoredBoxes {
  /** Indices, int32. */
  readonly selectedIndices: Tensor;
  /** Scores, float32. */
  readonly selectedScores: Tensor;
  readonly [name: string]: Tensor;
}

/**
 * Does the same as {@linkcode nonMaxSuppression}, returns scores too and, with `softNmsSigma` above 0, lowers scores by
 * overlap. As in TensorFlow.js, boxes are still dropped by `iouThreshold`; graphs from files keep them then, as
 * TensorFlow does. TensorFlow op `NonMaxSuppressionV5`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { selectedIndices, selectedScores } = tf.image.nonMaxSuppressionWithScore([[0, 0, 1, 1]], [0.5], 1);
 * console.log([selectedIndices.arraySync(), selectedScores.arraySync()]); // [[0], [0.5]]
 * ```
 */
export function nonMaxSuppressionWithScore(
  boxes: TensorLike,
  scores: TensorLike,
  maxOutputSize: number,
  iouThreshold: number | null = 0.5,
  scoreThreshold: number | null = -Infinity,
  softNmsSigma: number | null = 0,
): ScoredBoxes {
  const fn = "nonMaxSuppressionWithScore";
  const sigma = softNmsSigma ?? 0;
  if (!(sigma >= 0 && sigma <= 1)) {
    throw new ValueError(`Error in ${fn}: softNmsSigma must be in [0, 1], but was '${sigma}'`);
  }
  const inputs = boxInputs(fn, boxes, scores, [maxOutputSize, iouThreshold, scoreThreshold]);
  const [selectedIndices, selectedScores, count] = apply(
    NonMaxSuppressionV5,
    [...inputs, floatScalar(sigma)],
    { tfjs: true },
  );
  if (!count.isSymbolic) count.dispose();
  return { selectedIndices, selectedScores };
}

/**
 * Does the same as {@linkcode nonMaxSuppressionWithScore} for boxes that cannot be read synchronously.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { selectedIndices } = await tf.image.nonMaxSuppressionWithScoreAsync([[0, 0, 1, 1]], [0.5], 1);
 * console.log(selectedIndices.arraySync()); // [0]
 * ```
 */
export async function nonMaxSuppressionWithScoreAsync(
  ...[boxes, scores, ...limits]: Parameters<typeof nonMaxSuppressionWithScore>
): Promise<ScoredBoxes> {
  return nonMaxSuppressionWithScore(await onHost(boxes), await onHost(scores), ...limits);
}

/** Kept boxes, and the number of those that are not padding. */
export interface PaddedBoxes {
  /** Indices, int32, padded with zeros if requested. */
  readonly selectedIndices: Tensor;
  /** Number of valid indices, an int32 scalar. */
  readonly validOutputs: Tensor;
  readonly [name: string]: Tensor;
}

/**
 * Does the same as {@linkcode nonMaxSuppression}, returns the number of kept boxes, and can pad the result with zeros
 * to `maxOutputSize`. TensorFlow op `NonMaxSuppressionV4`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const boxes = [[0, 0, 1, 1], [0, 0, 1, 1]];
 * const { selectedIndices, validOutputs } = tf.image.nonMaxSuppressionPadded(boxes, [0.5, 0.4], 2, 0.5, 0, true);
 * console.log([selectedIndices.arraySync(), validOutputs.item()]); // [[0, 0], 1]
 * ```
 */
export function nonMaxSuppressionPadded(
  boxes: TensorLike,
  scores: TensorLike,
  maxOutputSize: number,
  iouThreshold: number | null = 0.5,
  scoreThreshold: number | null = -Infinity,
  padToMaxOutputSize = false,
): PaddedBoxes {
  const fn = "nonMaxSuppressionPadded";
  const inputs = boxInputs(fn, boxes, scores, [maxOutputSize, iouThreshold, scoreThreshold]);
  const [selectedIndices, validOutputs] = apply(NonMaxSuppressionV4, inputs, {
    pad_to_max_output_size: padToMaxOutputSize,
    tfjs: true,
  });
  return { selectedIndices, validOutputs };
}

/**
 * Does the same as {@linkcode nonMaxSuppressionPadded} for boxes that cannot be read synchronously.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { validOutputs } = await tf.image.nonMaxSuppressionPaddedAsync([[0, 0, 1, 1]], [0.5], 1);
 * console.log(validOutputs.item()); // 1
 * ```
 */
export async function nonMaxSuppressionPaddedAsync(
  ...[boxes, scores, ...limits]: Parameters<typeof nonMaxSuppressionPadded>
): Promise<PaddedBoxes> {
  return nonMaxSuppressionPadded(await onHost(boxes), await onHost(scores), ...limits);
}
