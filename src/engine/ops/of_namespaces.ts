/**
 * Functions that users find in namespaces, and ops without a public function, for rules of model files. Bundlers keep all of a namespace
 * that stands in another; of this module they keep what is used.
 */
import "./text/text_ops.ts";

export { Bitcast } from "./array/bitcast.ts";
export { TensorScatterMax, TensorScatterMin, TensorScatterMul } from "./array/scatter_fold.ts";
export { unsortedSegmentMin } from "./array/segment_folds.ts";
export { NonMaxSuppressionV3 } from "./image/boxes.ts";
export { cropAndResize } from "./image/crop.ts";
export { resizeBilinear, resizeNearestNeighbor } from "./image/resize.ts";
export { det, inv } from "./linalg/solve.ts";
export { QuantizedMatMul } from "./quantised/matmul.ts";
export { FusedAttention, FusedAttentionGradient } from "./rows/attention.ts";
export { frame } from "./signal/signal.ts";
