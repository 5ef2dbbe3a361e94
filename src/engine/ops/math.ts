/** The namespace `tf.math`. */
export { confusionMatrix } from "./array/count.ts";
export * from "./pointwise/made.ts";
export { multiplyNoNan } from "./pointwise/select.ts";
export * from "./pointwise/special.ts";
export * from "./reduce/reduce_math.ts";
export { segmentSum, unsortedSegmentSum } from "./array/segment.ts";
export * from "./array/segment_folds.ts";
