/**
 * The op methods of tensors, as types: `x.add(y)` is `tf.add(x, y)`. `ops/chained.ts` puts them on the prototype.
 */
import type { DType } from "./dtype.ts";
import type { Tensor, TensorLike } from "./tensor.ts";

/** Zeros around a window's input: TensorFlow's rules, a number for all sides, or both sides of each axis. */
export type ChainedPadding = "valid" | "same" | number | readonly (readonly [number, number])[];
/** How output extents are rounded where padding is a number. */
export type ChainedRounding = "floor" | "round" | "ceil";
/** One number for all spatial axes, or one per axis. */
export type ChainedPerAxis = number | readonly number[];

/** The elements of a tensor in a buffer, to be read and set one by one; `tf.TensorBuffer`. */
export interface ChainedBuffer {
  /** Element type. */
  readonly dtype: DType;
  /** Dimensions. */
  readonly shape: number[];
  /** Number of elements. */
  readonly size: number;
  /** The element at these indices. */
  get(...locs: number[]): number | string | boolean | bigint;
  /** Sets the element at these indices. */
  set(value: number | string | boolean | bigint, ...locs: number[]): void;
  /** A tensor of the elements. */
  toTensor(): Tensor;
}

/** Methods every tensor has, named as the functions of the same name. */
export interface ChainedOps {
  /** Magnitude. See `tf.abs`. */
  abs(): Tensor;
  /** Angle whose cosine this is. See `tf.acos`. */
  acos(): Tensor;
  /** Inverse hyperbolic cosine. See `tf.acosh`. */
  acosh(): Tensor;
  /** `this + b`. See `tf.add`. */
  add(b: TensorLike): Tensor;
  /** Whether every element is true. See `tf.all`. */
  all(axis?: number | readonly number[] | null, keepDims?: boolean): Tensor;
  /** Whether any element is true. See `tf.any`. */
  any(axis?: number | readonly number[] | null, keepDims?: boolean): Tensor;
  /** Index of the largest element along an axis. See `tf.argMax`. */
  argMax(axis?: number): Tensor;
  /** Index of the smallest element along an axis. See `tf.argMin`. */
  argMin(axis?: number): Tensor;
  /** As one axis. See `tf.reshape`. */
  as1D(): Tensor;
  /** As two axes. See `tf.reshape`. */
  as2D(rows: number, columns: number): Tensor;
  /** As three axes. See `tf.reshape`. */
  as3D(rows: number, columns: number, depth: number): Tensor;
  /** As four axes. See `tf.reshape`. */
  as4D(rows: number, columns: number, depth: number, depth2: number): Tensor;
  /** As five axes. See `tf.reshape`. */
  as5D(rows: number, columns: number, depth: number, depth2: number, depth3: number): Tensor;
  /** Angle whose sine this is. See `tf.asin`. */
  asin(): Tensor;
  /** Inverse hyperbolic sine. See `tf.asinh`. */
  asinh(): Tensor;
  /** As rank 0. Throws `ValueError` where there is not exactly one element. See `tf.reshape`. */
  asScalar(): Tensor;
  /** In another dtype. See `tf.cast`. */
  asType(dtype: DType): Tensor;
  /** Angle whose tangent this is. See `tf.atan`. */
  atan(): Tensor;
  /** Angle of the point `(b, this)`. See `tf.atan2`. */
  atan2(b: TensorLike): Tensor;
  /** Inverse hyperbolic tangent. See `tf.atanh`. */
  atanh(): Tensor;
  /** Means of windows. See `tf.avgPool`. */
  avgPool(
    filterSize: ChainedPerAxis,
    strides: ChainedPerAxis,
    pad: ChainedPadding,
    dimRoundingMode?: ChainedRounding,
  ): Tensor;
  /** Normalised by mean and variance. See `tf.batchNorm`. */
  batchNorm(
    mean: TensorLike,
    variance: TensorLike,
    offset?: TensorLike | null,
    scale?: TensorLike | null,
    varianceEpsilon?: number,
  ): Tensor;
  /** Blocks of the batch as space. See `tf.batchToSpaceND`. */
  batchToSpaceND(
    blockShape: readonly number[],
    crops: readonly (readonly [number, number])[],
  ): Tensor;
  /** Repeated to a shape. See `tf.broadcastTo`. */
  broadcastTo(shape: TensorLike): Tensor;
  /** A copy of the elements in a buffer; awaits the device. See `tf.buffer`. */
  buffer(): Promise<ChainedBuffer>;
  /** A copy of the elements in a buffer, at once; see `dataSync()`. */
  bufferSync(): ChainedBuffer;
  /** A copy of the elements as bytes; of strings, the bytes of each. */
  bytes(): Promise<Uint8Array[] | Uint8Array>;
  /** In another dtype. See `tf.cast`. */
  cast(dtype: DType): Tensor;
  /** Rounded up. See `tf.ceil`. */
  ceil(): Tensor;
  /** Bounded below and above. See `tf.clipByValue`. */
  clipByValue(min: number, max: number): Tensor;
  /** The same tensor under another handle. See `tf.clone`. */
  clone(): Tensor;
  /** Joined with other tensors along an axis. See `tf.concat`. */
  concat(tensors: TensorLike | readonly TensorLike[], axis?: number): Tensor;
  /** Convolution along one axis. See `tf.conv1d`. */
  conv1d(
    filter: TensorLike,
    stride: number,
    pad: ChainedPadding,
    dataFormat?: "NWC" | "NCW",
    dilation?: number,
    dimRoundingMode?: ChainedRounding,
  ): Tensor;
  /** Convolution of images. See `tf.conv2d`. */
  conv2d(
    filter: TensorLike,
    strides: ChainedPerAxis,
    pad: ChainedPadding,
    dataFormat?: "NHWC" | "NCHW",
    dilations?: ChainedPerAxis,
    dimRoundingMode?: ChainedRounding,
  ): Tensor;
  /** Transposed convolution of images. See `tf.conv2dTranspose`. */
  conv2dTranspose(
    filter: TensorLike,
    outputShape: readonly number[] | Tensor,
    strides: ChainedPerAxis,
    pad: ChainedPadding,
    dimRoundingMode?: ChainedRounding,
  ): Tensor;
  /** Cosine. See `tf.cos`. */
  cos(): Tensor;
  /** Hyperbolic cosine. See `tf.cosh`. */
  cosh(): Tensor;
  /** Running products along an axis. See `tf.cumprod`. */
  cumprod(axis?: number, exclusive?: boolean, reverse?: boolean): Tensor;
  /** Running sums along an axis. See `tf.cumsum`. */
  cumsum(axis?: number, exclusive?: boolean, reverse?: boolean): Tensor;
  /** Channels as space. See `tf.depthToSpace`. */
  depthToSpace(blockSize: number, dataFormat?: "NHWC" | "NCHW"): Tensor;
  /** Convolution of each channel by itself. See `tf.depthwiseConv2d`. */
  depthwiseConv2d(
    filter: TensorLike,
    strides: ChainedPerAxis,
    pad: ChainedPadding,
    dataFormat?: "NHWC" | "NCHW",
    dilations?: ChainedPerAxis,
    dimRoundingMode?: ChainedRounding,
  ): Tensor;
  /** Greatest sum of an element and the filter's tap over it. See `tf.dilation2d`. */
  dilation2d(
    filter: TensorLike,
    strides: ChainedPerAxis,
    pad: ChainedPadding,
    dilations?: ChainedPerAxis,
    dataFormat?: "NHWC",
  ): Tensor;
  /** `this / b`. See `tf.div`. */
  div(b: TensorLike): Tensor;
  /** `this / b`, 0 where divided by 0. See `tf.divNoNan`. */
  divNoNan(b: TensorLike): Tensor;
  /** Dot product. See `tf.dot`. */
  dot(b: TensorLike): Tensor;
  /** Exponential linear unit. See `tf.elu`. */
  elu(): Tensor;
  /** Where equal to `b`. See `tf.equal`. */
  equal(b: TensorLike): Tensor;
  /** Error function. See `tf.erf`. */
  erf(): Tensor;
  /** Square root of the sum of squares. See `tf.euclideanNorm`. */
  euclideanNorm(axis?: number | readonly number[] | null, keepDims?: boolean): Tensor;
  /** `e ** x`. See `tf.exp`. */
  exp(): Tensor;
  /** With an axis of extent 1 inserted. See `tf.expandDims`. */
  expandDims(axis?: number): Tensor;
  /** `e ** x - 1`. See `tf.expm1`. */
  expm1(): Tensor;
  /** Discrete Fourier transform of a complex tensor. See `tf.fft`. */
  fft(): Tensor;
  /** As one axis. See `tf.reshape`. */
  flatten(): Tensor;
  /** Rounded down. See `tf.floor`. */
  floor(): Tensor;
  /** `this / b` rounded down. See `tf.floorDiv`. */
  floorDiv(b: TensorLike): Tensor;
  /** Slices at indices along an axis. See `tf.gather`. */
  gather(indices: TensorLike, axis?: number, batchDims?: number): Tensor;
  /** `this > b`. See `tf.greater`. */
  greater(b: TensorLike): Tensor;
  /** `this >= b`. See `tf.greaterEqual`. */
  greaterEqual(b: TensorLike): Tensor;
  /** Inverse Fourier transform of a complex tensor. See `tf.ifft`. */
  ifft(): Tensor;
  /** Inverse Fourier transform to a real tensor. See `tf.irfft`. */
  irfft(): Tensor;
  /** Where neither infinite nor NaN. See `tf.isFinite`. */
  isFinite(): Tensor;
  /** Where infinite. See `tf.isInf`. */
  isInf(): Tensor;
  /** Where NaN. See `tf.isNaN`. */
  isNaN(): Tensor;
  /** This where positive, else `alpha * this`. See `tf.leakyRelu`. */
  leakyRelu(alpha?: number): Tensor;
  /** `this < b`. See `tf.less`. */
  less(b: TensorLike): Tensor;
  /** `this <= b`. See `tf.lessEqual`. */
  lessEqual(b: TensorLike): Tensor;
  /** Normalised by neighbouring channels. See `tf.localResponseNormalization`. */
  localResponseNormalization(
    depthRadius?: number,
    bias?: number,
    alpha?: number,
    beta?: number,
  ): Tensor;
  /** Natural logarithm. See `tf.log`. */
  log(): Tensor;
  /** `log(1 + x)`. See `tf.log1p`. */
  log1p(): Tensor;
  /** `this && b`. See `tf.logicalAnd`. */
  logicalAnd(b: TensorLike): Tensor;
  /** `!x`. See `tf.logicalNot`. */
  logicalNot(): Tensor;
  /** `this || b`. See `tf.logicalOr`. */
  logicalOr(b: TensorLike): Tensor;
  /** Where exactly one is true. See `tf.logicalXor`. */
  logicalXor(b: TensorLike): Tensor;
  /** Logarithm of the sigmoid. See `tf.logSigmoid`. */
  logSigmoid(): Tensor;
  /** Logarithm of the softmax. See `tf.logSoftmax`. */
  logSoftmax(axis?: number): Tensor;
  /** Logarithm of the sum of exponentials. See `tf.logSumExp`. */
  logSumExp(axis?: number | readonly number[] | null, keepDims?: boolean): Tensor;
  /** Matrix product. See `tf.matMul`. */
  matMul(b: TensorLike, transposeA?: boolean, transposeB?: boolean): Tensor;
  /** Largest element along axes. See `tf.max`. */
  max(axis?: number | readonly number[] | null, keepDims?: boolean): Tensor;
  /** The larger of `this` and `b`. See `tf.maximum`. */
  maximum(b: TensorLike): Tensor;
  /** Maxima of windows. See `tf.maxPool`. */
  maxPool(
    filterSize: ChainedPerAxis,
    strides: ChainedPerAxis,
    pad: ChainedPadding,
    dimRoundingMode?: ChainedRounding,
  ): Tensor;
  /** Mean along axes. See `tf.mean`. */
  mean(axis?: number | readonly number[] | null, keepDims?: boolean): Tensor;
  /** Smallest element along axes. See `tf.min`. */
  min(axis?: number | readonly number[] | null, keepDims?: boolean): Tensor;
  /** The smaller of `this` and `b`. See `tf.minimum`. */
  minimum(b: TensorLike): Tensor;
  /** With its mirror image around it. See `tf.mirrorPad`. */
  mirrorPad(
    paddings: readonly (readonly [number, number])[] | TensorLike,
    mode: "reflect" | "symmetric",
  ): Tensor;
  /** Remainder with the sign of `b`. See `tf.mod`. */
  mod(b: TensorLike): Tensor;
  /** `this * b`. See `tf.mul`. */
  mul(b: TensorLike): Tensor;
  /** `-x`. See `tf.neg`. */
  neg(): Tensor;
  /** Norm of vectors or matrices. See `tf.norm`. */
  norm(
    ord?: number | "euclidean" | "fro",
    axis?: number | readonly number[] | null,
    keepDims?: boolean,
  ): Tensor;
  /** Where different from `b`. See `tf.notEqual`. */
  notEqual(b: TensorLike): Tensor;
  /** Indices as one-hot vectors. See `tf.oneHot`. */
  oneHot(depth: number, onValue?: number, offValue?: number): Tensor;
  /** Ones of this shape and dtype. See `tf.onesLike`. */
  onesLike(): Tensor;
  /** With a constant around it. See `tf.pad`. */
  pad(
    paddings: readonly (readonly [number, number])[] | TensorLike,
    constantValue?: number,
  ): Tensor;
  /** Maxima or means of windows. See `tf.pool`. */
  pool(
    windowShape: ChainedPerAxis,
    poolingType: "avg" | "max",
    pad: ChainedPadding,
    dilations?: ChainedPerAxis,
    strides?: ChainedPerAxis,
    dimRoundingMode?: ChainedRounding,
  ): Tensor;
  /** `this ** exp`. See `tf.pow`. */
  pow(exp: TensorLike): Tensor;
  /** This where not negative, else `alpha * this`. See `tf.prelu`. */
  prelu(alpha: TensorLike): Tensor;
  /** Writes the elements to the console. See `tf.print`. */
  print(verbose?: boolean): void;
  /** Product along axes. See `tf.prod`. */
  prod(axis?: number | readonly number[] | null, keepDims?: boolean): Tensor;
  /** `1 / x`. See `tf.reciprocal`. */
  reciprocal(): Tensor;
  /** `max(x, 0)`. See `tf.relu`. */
  relu(): Tensor;
  /** `min(max(x, 0), 6)`. See `tf.relu6`. */
  relu6(): Tensor;
  /** In another shape; one dimension may be -1. See `tf.reshape`. */
  reshape(shape: TensorLike): Tensor;
  /** In the shape of another tensor. See `tf.reshape`. */
  reshapeAs(x: Tensor): Tensor;
  /** Images resized with interpolation. See `tf.resizeBilinear`. */
  resizeBilinear(
    newShape2D: readonly [number, number],
    alignCorners?: boolean,
    halfPixelCenters?: boolean,
  ): Tensor;
  /** Images resized without interpolation. See `tf.resizeNearestNeighbor`. */
  resizeNearestNeighbor(
    newShape2D: readonly [number, number],
    alignCorners?: boolean,
    halfPixelCenters?: boolean,
  ): Tensor;
  /** Turned round along axes. See `tf.reverse`. */
  reverse(axis?: number | readonly number[] | null): Tensor;
  /** Discrete Fourier transform of a real tensor. See `tf.rfft`. */
  rfft(): Tensor;
  /** Nearest integer, halves to even. See `tf.round`. */
  round(): Tensor;
  /** `1 / sqrt(x)`. See `tf.rsqrt`. */
  rsqrt(): Tensor;
  /** Scaled exponential linear unit. See `tf.selu`. */
  selu(): Tensor;
  /** Depthwise convolution, then one over channels. See `tf.separableConv2d`. */
  separableConv2d(
    depthwiseFilter: TensorLike,
    pointwiseFilter: TensorLike,
    strides: ChainedPerAxis,
    pad: "valid" | "same",
    dilation?: ChainedPerAxis,
    dataFormat?: "NHWC" | "NCHW",
  ): Tensor;
  /** `1 / (1 + e ** -x)`. See `tf.sigmoid`. */
  sigmoid(): Tensor;
  /** -1, 0 or 1. See `tf.sign`. */
  sign(): Tensor;
  /** Sine. See `tf.sin`. */
  sin(): Tensor;
  /** Hyperbolic sine. See `tf.sinh`. */
  sinh(): Tensor;
  /** A block of it. See `tf.slice`. */
  slice(begin: TensorLike, size?: TensorLike | null): Tensor;
  /** Exponentials over their sum along an axis. See `tf.softmax`. */
  softmax(dim?: number): Tensor;
  /** `log(1 + e ** x)`. See `tf.softplus`. */
  softplus(): Tensor;
  /** Blocks of space as the batch. See `tf.spaceToBatchND`. */
  spaceToBatchND(
    blockShape: readonly number[],
    paddings: readonly (readonly [number, number])[],
  ): Tensor;
  /** Cut into pieces along an axis. See `tf.split`. */
  split(numOrSizeSplits: number | readonly number[], axis?: number): Tensor[];
  /** Square root. See `tf.sqrt`. */
  sqrt(): Tensor;
  /** `x * x`. See `tf.square`. */
  square(): Tensor;
  /** `(this - b) ** 2`. See `tf.squaredDifference`. */
  squaredDifference(b: TensorLike): Tensor;
  /** Without axes of extent 1. See `tf.squeeze`. */
  squeeze(axis?: number | readonly number[] | null): Tensor;
  /** Joined with other tensors along a new axis. See `tf.stack`. */
  stack(x: Tensor | readonly Tensor[], axis?: number): Tensor;
  /** 1 where positive, else `alpha`. See `tf.step`. */
  step(alpha?: number): Tensor;
  /** Every so many elements of a block. See `tf.stridedSlice`. */
  stridedSlice(
    begin: TensorLike,
    end: TensorLike,
    strides?: TensorLike | null,
    beginMask?: number,
    endMask?: number,
    ellipsisMask?: number,
    newAxisMask?: number,
    shrinkAxisMask?: number,
  ): Tensor;
  /** `this - b`. See `tf.sub`. */
  sub(b: TensorLike): Tensor;
  /** Sum along axes. See `tf.sum`. */
  sum(axis?: number | readonly number[] | null, keepDims?: boolean): Tensor;
  /** Tangent. See `tf.tan`. */
  tan(): Tensor;
  /** Hyperbolic tangent. See `tf.tanh`. */
  tanh(): Tensor;
  /** Repeated along each axis. See `tf.tile`. */
  tile(reps: TensorLike): Tensor;
  /** As bool: where not 0. See `tf.cast`. */
  toBool(): Tensor;
  /** As float32. See `tf.cast`. */
  toFloat(): Tensor;
  /** As int32. See `tf.cast`. */
  toInt(): Tensor;
  /** The largest elements along the last axis, and their indices. See `tf.topk`. */
  topk(k?: number, sorted?: boolean): { values: Tensor; indices: Tensor };
  /** With its axes in another order. See `tf.transpose`. */
  transpose(perm?: TensorLike | null): Tensor;
  /** Unique elements, and where they are. See `tf.unique`. */
  unique(axis?: number): { values: Tensor; indices: Tensor };
  /** Sums of the slices of each segment. See `tf.unsortedSegmentSum`. */
  unsortedSegmentSum(segmentIds: TensorLike, numSegments: number): Tensor;
  /** Cut into slices along an axis. See `tf.unstack`. */
  unstack(axis?: number): Tensor[];
  /** This where the condition holds, `x` elsewhere. See `tf.where`. */
  where(condition: TensorLike, x: TensorLike): Tensor;
  /** Zeros of this shape and dtype. See `tf.zerosLike`. */
  zerosLike(): Tensor;
}
