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
export {
  adjustBrightness,
  adjustContrast,
  adjustGamma,
  adjustHue,
  adjustSaturation,
  convertImageDtype,
  hsvToRgb,
  perImageStandardization,
  randomBrightness,
  randomContrast,
  randomHue,
  randomSaturation,
  rgbToHsv,
  rgbToYiq,
  rgbToYuv,
  yiqToRgb,
  yuvToRgb,
} from "./adjust.ts";
export {
  type CombinedBoxes,
  combinedNonMaxSuppression,
  type CombinedOptions,
  drawBoundingBoxes,
  nonMaxSuppressionOverlaps,
} from "./box_ops.ts";
export * from "./measures.ts";
export {
  centralCrop,
  cropToBoundingBox,
  type ImageBox,
  padToBoundingBox,
  randomCrop,
  randomFlipLeftRight,
  randomFlipUpDown,
  resizeWithCropOrPad,
  resizeWithPad,
  rot90,
  transposeImage as transpose,
} from "./moves.ts";
export {
  statelessRandomBrightness,
  statelessRandomContrast,
  statelessRandomCrop,
  statelessRandomFlipLeftRight,
  statelessRandomFlipUpDown,
  statelessRandomHue,
  statelessRandomSaturation,
} from "./stateless.ts";
export { cropAndResize } from "./crop.ts";
export { resize, resizeBilinear, resizeNearestNeighbor, type ResizeOptions } from "./resize.ts";
export { flipLeftRight, flipUpDown, rotateWithOffset, transform } from "./warp.ts";
export {
  type DistortedBox,
  type DistortedBoxOptions,
  sampleDistortedBoundingBox,
  statelessSampleDistortedBoundingBox,
} from "./distorted_box.ts";
export { extractGlimpse, type GlimpseNoise, type GlimpseOptions } from "./glimpse.ts";
export { generateBoundingBoxProposals, type ProposalOptions } from "./proposals.ts";
