/** `tf.kernel_impls`: kernels on the host, on plain arrays. */
import type { Tensor } from "../../engine/core/tensor.ts";
import {
  overlapOf,
  suppress,
  type SuppressOptions,
} from "../../engine/kernels/host/image/boxes.ts";
import { tensor2d } from "../../engine/ops/array/creation.ts";
import type { NumericArray } from "./types.ts";
import { indexToLoc } from "./util/arrays.ts";
import { computeStrides } from "./util/shapes.ts";

/** Kept boxes, best first. */
export interface NonMaxSuppressionResult {
  /** Their indices. */
  selectedIndices: number[];
  /** Their scores. */
  selectedScores?: number[];
  /** Number of valid indices, where they are padded. */
  validOutputs?: number;
}

function keep(
  boxes: NumericArray,
  scores: NumericArray,
  { most, ...options }: SuppressOptions,
): { indices: number[]; scores: number[] } {
  const kept = suppress(overlapOf(boxes), scores, {
    ...options,
    most: Math.min(most, scores.length),
    tfjs: true,
  });
  return { indices: kept.indices, scores: kept.scores };
}

/** Selects the best of overlapping boxes. */
export function nonMaxSuppressionV3Impl(
  boxes: NumericArray,
  scores: NumericArray,
  maxOutputSize: number,
  iouThreshold: number,
  scoreThreshold: number,
): NonMaxSuppressionResult {
  const options = { most: maxOutputSize, iouThreshold, scoreThreshold, softSigma: 0 };
  return { selectedIndices: keep(boxes, scores, options).indices };
}

/** Selects the best of overlapping boxes, padded with zeros on demand. */
export function nonMaxSuppressionV4Impl(
  boxes: NumericArray,
  scores: NumericArray,
  maxOutputSize: number,
  iouThreshold: number,
  scoreThreshold: number,
  padToMaxOutputSize: boolean,
): NonMaxSuppressionResult {
  const options = { most: maxOutputSize, iouThreshold, scoreThreshold, softSigma: 0 };
  const { indices } = keep(boxes, scores, options);
  const missing = padToMaxOutputSize ? Math.max(0, maxOutputSize - indices.length) : 0;
  return {
    selectedIndices: [...indices, ...new Array(missing).fill(0)],
    validOutputs: indices.length,
  };
}

/** Selects boxes by scores that overlaps lower (soft suppression). */
export function nonMaxSuppressionV5Impl(
  boxes: NumericArray,
  scores: NumericArray,
  maxOutputSize: number,
  iouThreshold: number,
  scoreThreshold: number,
  softNmsSigma: number,
): NonMaxSuppressionResult {
  const options = { most: maxOutputSize, iouThreshold, scoreThreshold, softSigma: softNmsSigma };
  const { indices, scores: kept } = keep(boxes, scores, options);
  return { selectedIndices: indices, selectedScores: kept };
}

/** Returns the indices of the elements that are not 0. */
export function whereImpl(condShape: readonly number[], condVals: ArrayLike<number>): Tensor {
  const rank = condShape.length, strides = computeStrides(condShape);
  const found = Array.from(condVals).flatMap((value, i) => value ? [i] : []);
  const places = found.flatMap((i) => indexToLoc(i, rank, strides));
  return tensor2d(places, [found.length, rank], "int32");
}
