/** The namespace `tf.image`. */
export {
  nonMaxSuppression,
  nonMaxSuppressionAsync,
  nonMaxSuppressionPadded,
  nonMaxSuppressionPaddedAsync,
  nonMaxSuppressionWithScore,
  nonMaxSuppressionWithScoreAsync,
  type PaddedBoxes,
  type ScoredBoxes,
} from "./boxes.ts";
export { grayscaleToRGB, rgbToGrayscale, threshold } from "./color.ts";
export { cropAndResize } from "./crop.ts";
export { resize, resizeBilinear, resizeNearestNeighbor, type ResizeOptions } from "./resize.ts";
export { flipLeftRight, flipUpDown, rotateWithOffset, transform } from "./warp.ts";
