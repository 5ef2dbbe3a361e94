/**
 * The namespace `tf.image`.
 * May import other ops.
 */
export {
  nonMaxSuppression,
  nonMaxSuppressionAsync,
  nonMaxSuppressionPadded,
  nonMaxSuppressionPaddedAsync,
  nonMaxSuppressionWithScore,
  nonMaxSuppressionWithScoreAsync,
  type PaddedBoxes,
  type ScoredBoxes,
} from "./image_boxes.ts";
export { grayscaleToRGB, rgbToGrayscale, threshold } from "./image_color.ts";
export { cropAndResize } from "./image_crop.ts";
export {
  resize,
  resizeBilinear,
  resizeNearestNeighbor,
  type ResizeOptions,
} from "./image_resize.ts";
export { flipLeftRight, flipUpDown, rotateWithOffset, transform } from "./image_warp.ts";
