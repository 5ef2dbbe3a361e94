/**
 * TensorFlow.js's core (`@tensorflow/tfjs-core` 4.22) over Weft: every name that programs and packages import from it. Put in its place
 * by an import map, npm's `overrides` or a bundler's alias, `@tensorflow/tfjs-layers`, `-data`, `-converter` and what is built on them
 * run unmodified.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * tf.util.assert(tf.engine().backendNames().includes("cpu"), () => "There is a backend");
 * const y = tf.tidy(() => tf.tensor1d([1, 2, 3]).square().sum());
 * console.log(y.dataSync()[0]); // 14
 * ```
 *
 * @module
 */
import { reads } from "../../engine/core/text.ts";
import { useArithmeticInMethods } from "./arithmetic.ts";

export {
  abs,
  acos,
  acosh,
  AdadeltaOptimizer,
  AdagradOptimizer,
  AdamaxOptimizer,
  AdamOptimizer,
  addN,
  all,
  any,
  argMax,
  argMin,
  asin,
  asinh,
  atan,
  atan2,
  atanh,
  avgPool,
  avgPool3d,
  basicLSTMCell,
  batchNorm,
  batchNorm2d,
  batchNorm3d,
  batchNorm4d,
  batchToSpaceND,
  bincount,
  bitwiseAnd,
  booleanMaskAsync,
  broadcastArgs,
  broadcastTo,
  buffer,
  cast,
  ceil,
  clipByValue,
  clone,
  complex,
  concat,
  concat1d,
  concat2d,
  concat3d,
  concat4d,
  conv1d,
  conv2d,
  conv2dTranspose,
  conv3d,
  conv3dTranspose,
  cos,
  cosh,
  cumprod,
  cumsum,
  customGrad,
  denseBincount,
  depthToSpace,
  depthwiseConv2d,
  diag,
  dilation2d,
  disposeVariables,
  divNoNan,
  dot,
  dropout,
  einsum,
  elu,
  ensureShape,
  equal,
  erf,
  euclideanNorm,
  exp,
  expandDims,
  expm1,
  eye,
  fft,
  fill,
  floor,
  gather,
  gatherND,
  greater,
  greaterEqual,
  ifft,
  imag,
  inTopKAsync,
  irfft,
  isFinite,
  isInf,
  isNaN,
  leakyRelu,
  less,
  lessEqual,
  linspace,
  localResponseNormalization,
  log,
  log1p,
  logicalAnd,
  logicalNot,
  logicalOr,
  logicalXor,
  logSigmoid,
  logSumExp,
  lowerBound,
  matMul,
  max,
  maxPool,
  maxPool3d,
  maxPoolWithArgmax,
  mean,
  meshgrid,
  min,
  mirrorPad,
  moments,
  MomentumOptimizer,
  movingAverage,
  multinomial,
  multiRNNCell,
  neg,
  nextFrame,
  norm,
  notEqual,
  oneHot,
  ones,
  onesLike,
  outerProduct,
  pad,
  pad1d,
  pad2d,
  pad3d,
  pad4d,
  pool,
  print,
  prod,
  raggedGather,
  raggedRange,
  raggedTensorToTensor,
  rand,
  randomGamma,
  randomNormal,
  randomStandardNormal,
  randomUniform,
  randomUniformInt,
  range,
  real,
  reciprocal,
  Reduction,
  relu,
  relu6,
  reshape,
  reverse,
  reverse1d,
  reverse2d,
  reverse3d,
  reverse4d,
  rfft,
  RMSPropOptimizer,
  round,
  rsqrt,
  scalar,
  scatterND,
  searchSorted,
  selu,
  separableConv2d,
  setdiff1dAsync,
  SGDOptimizer,
  sigmoid,
  sign,
  sin,
  sinh,
  slice,
  slice1d,
  slice2d,
  slice3d,
  slice4d,
  softmax,
  softplus,
  spaceToBatchND,
  sparseToDense,
  split,
  sqrt,
  square,
  squeeze,
  stack,
  step,
  stridedSlice,
  sum,
  tan,
  tanh,
  tensorScatterUpdate,
  tile,
  topk,
  transpose,
  truncatedNormal,
  unique,
  unsortedSegmentSum,
  unstack,
  upperBound,
  variable,
  whereAsync,
  zeros,
  zerosLike,
} from "../../../mod.ts";
export { Tensor, type TensorLike } from "../../engine/core/tensor.ts";
export type { CompositeSpec, CompositeTensor, RowPart } from "../../engine/core/composite.ts";
export type {
  CompositeOf,
  Joined,
  Like,
  Operand,
  Picked,
  Reduced,
} from "../../engine/core/composite.ts";
export { TensorBuffer } from "../../engine/ops/array/tensor_buffer.ts";
export { Variable } from "../../engine/runtime/variables/variable.ts";
export { memory, type MemoryInfo } from "../../engine/runtime/eager/memory.ts";
export { cosineWindow } from "./windows.ts";
export type {
  ConfigDict,
  ConfigDictArray,
  ConfigDictValue,
  FromConfigMethod,
  Serializable,
  SerializableClass,
  SerializableConstructor,
} from "./serialization.ts";
export type * from "./named_types.ts";
export * from "./types.ts";
// TensorFlow.js's own, where ours have these names too.
export type { NamedTensor, TypedArray } from "./types.ts";
export * from "./creation.ts";
export {
  add,
  type Binary,
  div,
  floorDiv,
  logSoftmax,
  maximum,
  minimum,
  mod,
  mul,
  pow,
  prelu,
  squaredDifference,
  sub,
  where,
} from "./arithmetic.ts";
export { grad, grads, valueAndGrad, valueAndGrads, variableGrads } from "./gradients.ts";
export * from "./globals.ts";
export { dispose, keep, tidy } from "./scopes.ts";
export { type KernelInfo, profile, type ProfileInfo, time, type TimingInfo } from "./timing.ts";
export {
  backend,
  type BackendFactory,
  findBackend,
  findBackendFactory,
  getBackend,
  ready,
  registerBackend,
  removeBackend,
  setBackend,
} from "./backends.ts";
export { type BackendTimingInfo, type DataMover, DataStorage, KernelBackend } from "./backend.ts";
export { Engine, engine, EngineState } from "./engine.ts";
export {
  ENV,
  env,
  Environment,
  type FlagRegistryEntry,
  type Flags,
  type FlagValue,
  type Platform,
} from "./environment.ts";
export * from "./kernel_names.ts";
export * from "./kernel_registry.ts";
export { Optimizer } from "./optimizer.ts";
export { OptimizerConstructors, type OptimizerFunctions, Rank, train } from "./constants.ts";
/** Images of pages as tensors, and back. */
export * as browser from "./browser.ts";
/** Losses. */
export * as losses from "../../engine/ops/rows/losses.ts";
/** Windows and short-time transforms. */
export * as signal from "../../engine/ops/signal/signal.ts";
/** Fourier transforms. */
export * as spectral from "../../engine/ops/signal/spectral.ts";
/** Functions that TensorFlow.js keeps in `tf.math`. */
export * as math from "../../engine/ops/math.ts";
/** Images: resizing, crops, transforms, suppression. */
export * as image from "../../engine/ops/image/namespace.ts";
/** Sparse tensors as their indices, values and shape. */
export * as sparse from "../../engine/ops/host/sparse.ts";
/** Strings. */
export * as string from "../../engine/ops/host/string.ts";
/** Products and convolutions with bias and activation in one op. */
export * as fused from "../../engine/ops/fused/namespace.ts";
/** Linear algebra. */
export * as linalg from "../../engine/ops/linalg/namespace.ts";
/** Helpers of backends. */
export * as backend_util from "./backend_util/mod.ts";
/** Shapes that broadcast. */
export * as broadcast_util from "./backend_util/broadcast.ts";
/** The kind of the device. */
export * as device_util from "./device_util.ts";
/** Indices that gather. */
export * as gather_util from "./backend_util/gather.ts";
/** Saving and loading models. */
export * as io from "./io/mod.ts";
/** Kernels on the host. */
export * as kernel_impls from "./kernel_impls.ts";
/** Indices that scatter. */
export * as scatter_util from "./backend_util/scatter.ts";
/** Classes that can be written as JSON. */
export * as serialization from "./serialization.ts";
/** Slices. */
export * as slice_util from "./backend_util/slice.ts";
/** Tensors in containers. */
export * as tensor_util from "./tensor_util.ts";
/** Comparisons for tests. */
export * as test_util from "./test_util.ts";
/** Arrays, shapes, texts, assertions. */
export * as util from "./util/mod.ts";

reads.asTensorFlowJs = true;
useArithmeticInMethods();
