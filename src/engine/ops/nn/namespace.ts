/** The namespace `tf.nn`: functions that stand nowhere else, and those of `tf` itself that TensorFlow has there. */
export { crelu, silu, swish } from "./activations.ts";
export {
  glu,
  hardShrink,
  hardSigmoid,
  hardSilu,
  hardSwish,
  hardTanh,
  softShrink,
  sparsemax,
  sparsePlus,
  sparseSigmoid,
  threshold,
} from "./bent.ts";
export {
  celu,
  logMeanExp,
  mish,
  squareplus,
  standardize,
  type StandardizeOptions,
  tanhShrink,
} from "./smooth.ts";
export {
  type EmbeddingCombiner,
  embeddingLookupSparse,
  type EmbeddingOptions,
  type EmbeddingRows,
  safeEmbeddingLookupSparse,
  type SafeEmbeddingOptions,
} from "./embeddings.ts";
export {
  fractionalAvgPool,
  type FractionallyPooled,
  fractionalMaxPool,
  type PoolingRatio,
} from "../conv/fractional_pool.ts";
export { type IsotonicOptions, isotonicRegression } from "./isotonic.ts";
export { collapseRepeated, ctcUniqueLabels } from "./labels.ts";
export {
  l2Loss,
  logPoissonLoss,
  type LogPoissonOptions,
  type WeightedCrossEntropyArgs,
  weightedCrossEntropyWithLogits,
} from "./losses.ts";
export {
  batchNormWithGlobalNormalization,
  type GlobalNormalizationArgs,
  normalizeMoments,
  type SufficientStatistics,
  sufficientStatistics,
  type SufficientStatisticsOptions,
} from "./moments.ts";
export {
  nceLoss,
  type SampledLossArgs,
  sampledSoftmaxLoss,
  type SampledValues,
} from "./sampled.ts";
export {
  atrousConv2dTranspose,
  avgPool1d,
  conv1dTranspose,
  erosion2d,
  maxPool1d,
} from "./windows.ts";

// Functions of `tf` itself.
export { conv1d, conv2d, conv2dTranspose } from "../conv/conv.ts";
export { conv3d, conv3dTranspose } from "../conv/conv_3d.ts";
export { depthwiseConv2d, separableConv2d } from "../conv/conv_depthwise.ts";
export { dilation2d } from "../conv/dilation.ts";
export {
  avgPool,
  avgPool3d,
  maxPool,
  maxPool3d,
  maxPoolWithArgmax,
  pool,
} from "../conv/pool_functions.ts";
export { depthToSpace, spaceToDepth } from "../array/space_batch.ts";
export { elu, leakyRelu, relu, relu6, selu } from "../pointwise/activation.ts";
export { gelu, sigmoid, softplus, softsign } from "../pointwise/sigmoid.ts";
export { tanh } from "../pointwise/trigonometric.ts";
export { moments } from "../reduce/reduce_derived.ts";
export { ctcBeamSearchDecoder, ctcGreedyDecoder, ctcLoss } from "../rows/ctc.ts";
export { dropout } from "../rows/dropout.ts";
export { localResponseNormalization } from "../rows/local_response_norm.ts";
export {
  logSoftmax,
  softmax,
  softmaxCrossEntropyWithLogits,
  sparseSoftmaxCrossEntropyWithLogits,
} from "../rows/softmax.ts";
export {
  allCandidateSampler,
  type CandidateSample,
  computeAccidentalHits,
  fixedUnigramCandidateSampler,
  type FixedUnigramOptions,
  learnedUnigramCandidateSampler,
  type RangeSamplerArguments,
} from "../random/candidates.ts";
