/** Functions of the engine as rules of ops name them: not the whole library, which pages need not load. */
export { cond } from "../../engine/runtime/control/cond.ts";
export { scan } from "../../engine/runtime/control/functional_ops.ts";
export { TensorArray } from "../../engine/runtime/control/tensor_array.ts";
export { whileLoop } from "../../engine/runtime/control/while_loop.ts";
export { tidy } from "../../engine/runtime/eager/tensor.ts";
export { Tensor } from "../../engine/core/tensor.ts";
export { unsortedSegmentMin } from "../../engine/ops/array/segment_folds.ts";
export { cropAndResize } from "../../engine/ops/image/crop.ts";
// Bundlers keep all of a namespace that stands in another.
export { resizeBilinear, resizeNearestNeighbor } from "../../engine/ops/image/resize.ts";
export { det, inv } from "../../engine/ops/linalg/solve.ts";
export { frame } from "../../engine/ops/signal/signal.ts";
export * from "../../engine/ops/functions.ts";
