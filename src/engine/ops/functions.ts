/**
 * The ops as functions, and the types of their arguments: the exports of this folder in `mod.ts` and the entry
 * `./eager`.
 */
/** Losses. */
export * as losses from "./rows/losses.ts";
export { Reduction } from "./rows/losses.ts";
export * from "./pointwise/activation.ts";
export { add, addN, div, divNoNan, floorDiv, mod, mul, neg, sub } from "./pointwise/arithmetic.ts";
export * from "./pointwise/compare.ts";
export * from "./pointwise/complex.ts";
export { erf, exp, expm1, log, log1p, xdivy, xlogy } from "./pointwise/exponential.ts";
export {
  bitwiseAnd,
  bitwiseInvert,
  bitwiseOr,
  bitwiseXor,
  leftShift,
  logicalAnd,
  logicalNot,
  logicalOr,
  logicalXor,
  rightShift,
} from "./pointwise/logical.ts";
export * from "./pointwise/power.ts";
export * from "./pointwise/rounding.ts";
export { clipByValue, maximum, minimum, where } from "./pointwise/select.ts";
export * from "./pointwise/sigmoid.ts";
export * from "./pointwise/trigonometric.ts";
export * from "./array/cast.ts";
export {
  expandDims,
  identity,
  identity as clone,
  rank,
  reshape,
  shape,
  size,
  squeeze,
  stopGradient,
} from "./array/view.ts";
export { prod } from "./reduce/prod.ts";
export { all, any, type Axes, max, mean, min, sum } from "./reduce/reduce.ts";
export * from "./reduce/reduce_derived.ts";
export * from "./reduce/arg_reduce.ts";
export * from "./rows/dropout.ts";
/** Windows, frames, cosine and short-time transforms, cepstra. */
export * as signal from "./signal/namespace.ts";
export * from "./reduce/in_top_k.ts";
export * from "./signal/spectral.ts";
export * from "./signal/spectral_more.ts";
export { extractPatches, extractVolumePatches } from "./conv/patches.ts";
/** Fourier transforms. */
export * as spectral from "./signal/spectral.ts";
export { bincount, denseBincount } from "./array/count.ts";
/** Functions that TensorFlow.js keeps in `tf.math`. */
export * as math from "./math.ts";
export * from "./reduce/topk.ts";
export {
  batchNorm,
  batchNorm2d,
  batchNorm3d,
  batchNorm4d,
  layerNorm,
  movingAverage,
} from "./rows/normalize.ts";
export * from "./rows/local_response_norm.ts";
export * from "./rows/softmax.ts";
export { cumprod, cumsum } from "./reduce/scan.ts";
export * from "./array/creation.ts";
export * from "./array/join.ts";
export * from "./array/move.ts";
export { mirrorPad, pad, pad1d, pad2d, pad3d, pad4d } from "./array/pad.ts";
export * from "./array/repeat.ts";
export { slice, slice1d, slice2d, slice3d, slice4d } from "./array/slice.ts";
export * from "./array/strided_slice.ts";
export { dynamicSlice, dynamicUpdateSlice, type StartIndices } from "./dynamic_slice.ts";
export * from "./array/ranges.ts";
export {
  buffer,
  type BufferElement,
  type BufferValues,
  TensorBuffer,
} from "./array/tensor_buffer.ts";
export { bitcast } from "./array/bitcast.ts";
export { histogramFixedWidth, histogramFixedWidthBins } from "./array/histogram.ts";
export { dynamicPartition, dynamicStitch } from "./array/partition.ts";
export { saturateCast } from "./array/saturate.ts";
export { tensorScatterMax, tensorScatterMin, tensorScatterSub } from "./array/scatter_fold.ts";
export { repeat, reverseSequence, sequenceMask } from "./array/sequences.ts";
export { truncateDiv, truncateMod } from "./pointwise/truncated.ts";
export { gather, gatherND } from "./array/gather.ts";
export { IndexedSlices } from "./array/indexed_slices.ts";
export {
  scatterND,
  sparseToDense,
  tensorScatterAdd,
  tensorScatterUpdate,
} from "./array/scatter.ts";
export { segmentSum, unsortedSegmentSum } from "./array/segment.ts";
export * from "./random/random.ts";
export { type Seed, setRandomSeed } from "./random/state.ts";
/** Random seeds and numbers. */
export * as random from "./random/namespace.ts";
/** Images of pages as tensors, and back. */
export * as browser from "./image/browser_namespace.ts";
/** Images: resizing, crops, transforms, suppression. */
export * as image from "./image/namespace.ts";
/** Sparse tensors: order, parts, sums and products, also as their indices, values and shape. */
export * as sparse from "./ragged/sparse_namespace.ts";
/** Sets along the last axis of dense and sparse tensors. */
export * as sets from "./sets/namespace.ts";
/** Strings. */
export * as string from "./host/string.ts";
/** Functions of strings: parts, joins, cases, numbers in text. */
export * as strings from "./text/strings.ts";
export { editDistance } from "./text/edit_distance.ts";
export { fingerprint } from "./text/fingerprint.ts";
/** Tables from strings or numbers to others. */
export * as lookup from "./text/lookup.ts";
export * from "./host/ragged.ts";
/** Ragged tensors: rows of different lengths. */
export * as ragged from "./ragged/namespace.ts";
export { raggedFillEmptyRows } from "./ragged/ragged_segments.ts";
export { RaggedArray, SparseArray } from "./ragged/ragged_array.ts";
export {
  RaggedTensor,
  RaggedTensorSpec,
  type RaggedTensorSpecClass,
  type RaggedTensorSpecMaker,
  type RaggedValues,
} from "./ragged/ragged_tensor.ts";
export type { SparseLike } from "./ragged/sparse_input.ts";
export {
  SparseTensor,
  SparseTensorSpec,
  type SparseTensorSpecClass,
  type SparseTensorSpecMaker,
} from "./ragged/sparse_tensor.ts";
export * from "./array/set_ops.ts";
export * from "./array/space_batch.ts";
export * from "./rows/rnn_cell.ts";
export { dot, matMul, outerProduct } from "./linalg/matmul.ts";
export { dequantize, quantize, type QuantizeOptions } from "./quantised/quantize.ts";
/** Rounding to the levels of a few bits, and what training with it takes. */
export * as quantization from "./quantised/namespace.ts";
export { QuantizedTensor, QuantizedTensorSpec } from "./quantised/quantized_tensor.ts";
export { conv1d, conv2d, conv2dTranspose } from "./conv/conv.ts";
export * from "./conv/conv_3d.ts";
export { depthwiseConv2d, separableConv2d } from "./conv/conv_depthwise.ts";
export * from "./conv/dilation.ts";
export * from "./linalg/einsum.ts";
/** Products and convolutions with bias and activation in one op. */
export * as fused from "./fused/namespace.ts";
export { tensordot } from "./linalg/linalg.ts";
/** Activations, losses, windows, labels and embeddings of networks, by TensorFlow's names. */
export * as nn from "./nn/namespace.ts";
/** Functions of other libraries: `tf.experimental.numpy`. */
export * as experimental from "./experimental.ts";
/** Linear algebra. */
export * as linalg from "./linalg/namespace.ts";
export * from "./conv/pool_functions.ts";
export * from "./rows/attention.ts";
export {
  type CtcBeamOptions,
  ctcBeamSearchDecoder,
  type CtcDecoded,
  ctcGreedyDecoder,
  type CtcGreedyOptions,
  ctcLoss,
  type CtcLossOptions,
} from "./rows/ctc.ts";

// Types in signatures.
export type { Paddings } from "./array/pad.ts";
export type { Padding, PerAxis, RoundingMode } from "./conv/conv_arguments.ts";
