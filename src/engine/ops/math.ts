/** The namespace `tf.math`. */
export { confusionMatrix } from "./array/count.ts";
export * from "./pointwise/made.ts";
export { multiplyNoNan } from "./pointwise/select.ts";
export { besselI0, besselI0e, besselI1, besselI1e } from "./pointwise/bessel.ts";
export * from "./pointwise/incomplete.ts";
export * from "./pointwise/next_after.ts";
export { digamma, erfinv, lgamma, ndtri, polygamma, xlog1py, zeta } from "./pointwise/special.ts";
export { sobolSample } from "./random/sobol.ts";
export * from "./reduce/cumulative_logsumexp.ts";
/** Special functions that TensorFlow keeps by themselves: Bessel functions and integrals. */
export * as special from "./math_special.ts";
export * from "./reduce/reduce_math.ts";
export { segmentSum, unsortedSegmentSum } from "./array/segment.ts";
export * from "./array/segment_folds.ts";
