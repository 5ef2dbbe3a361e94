/**
 * The namespace `tf.math`.
 */
export { confusionMatrix } from "./array/count.ts";
export { digamma, erfinv, lgamma, ndtri, polygamma, xlog1py, zeta } from "./pointwise/special.ts";
export { segmentSum, unsortedSegmentSum } from "./array/segment.ts";
export {
  segmentMax,
  segmentMean,
  segmentMin,
  segmentProd,
  type SortedSegments,
  unsortedSegmentMax,
  unsortedSegmentMean,
  unsortedSegmentMin,
  unsortedSegmentProd,
  type UnsortedSegments,
  unsortedSegmentSqrtN,
} from "./array/segment_folds.ts";
