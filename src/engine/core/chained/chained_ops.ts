/**
 * The op methods of tensors, as types: `x.add(y)` is `tf.add(x, y)`. `engine/ops/chained.ts` puts them on the prototype.
 */
import type { CompositeTensor, Dequantized, Like } from "../composite.ts";
import type { ChainedBinary } from "./chained_binary.ts";
import type { ChainedWindows } from "./chained_windows.ts";
import type { DType } from "../dtype.ts";
import type { Rank } from "../ranks.ts";
import type { Tensor, TensorLike } from "../tensor.ts";

/** The elements of a tensor in a buffer, for reading and setting one by one; `tf.TensorBuffer`. */
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

/** Axes: one, several, or all where none is given. */
export type ChainedAxes = number | readonly number[] | null;

/** Methods every tensor has, named as the functions of the same name. */
export interface ChainedOps extends ChainedWindows {
  /** Magnitude. See `tf.abs`. */
  abs<T extends Tensor = Tensor>(): T;
  /** Inverse cosine. See `tf.acos`. */
  acos<T extends Tensor = Tensor>(): T;
  /** Inverse hyperbolic cosine. See `tf.acosh`. */
  acosh<T extends Tensor = Tensor>(): T;
  /** `this + b`. See `tf.add`. */
  add: ChainedBinary;
  /** True where all elements along axes are. See `tf.all`. */
  all<T extends Tensor = Tensor>(axis?: ChainedAxes, keepDims?: boolean): T;
  /** True where any element along axes is. See `tf.any`. */
  any<T extends Tensor = Tensor>(axis?: ChainedAxes, keepDims?: boolean): T;
  /** Index of the largest element along an axis. See `tf.argMax`. */
  argMax<T extends Tensor = Tensor>(axis?: number): T;
  /** Index of the smallest element along an axis. See `tf.argMin`. */
  argMin<T extends Tensor = Tensor>(axis?: number): T;
  /** As one axis. See `tf.reshape`. */
  as1D(): Tensor<Rank.R1>;
  /** As two axes. See `tf.reshape`. */
  as2D(rows: number, columns: number): Tensor<Rank.R2>;
  /** As three axes. See `tf.reshape`. */
  as3D(rows: number, columns: number, depth: number): Tensor<Rank.R3>;
  /** As four axes. See `tf.reshape`. */
  as4D(rows: number, columns: number, depth: number, depth2: number): Tensor<Rank.R4>;
  /** As five axes. See `tf.reshape`. */
  as5D(
    rows: number,
    columns: number,
    depth: number,
    depth2: number,
    depth3: number,
  ): Tensor<Rank.R5>;
  /** Inverse sine. See `tf.asin`. */
  asin<T extends Tensor = Tensor>(): T;
  /** Inverse hyperbolic sine. See `tf.asinh`. */
  asinh<T extends Tensor = Tensor>(): T;
  /** As rank 0. Throws `ValueError` where there is not exactly one element. See `tf.reshape`. */
  asScalar(): Tensor<Rank.R0>;
  /** In another dtype. See `tf.cast`. */
  asType<T extends Tensor = Tensor>(dtype: DType): T;
  /** Inverse tangent. See `tf.atan`. */
  atan<T extends Tensor = Tensor>(): T;
  /** Angle of the point `(b, this)`. See `tf.atan2`. */
  atan2: ChainedBinary;
  /** Inverse hyperbolic tangent. See `tf.atanh`. */
  atanh<T extends Tensor = Tensor>(): T;
  /** Normalised by mean and variance. See `tf.batchNorm`. */
  batchNorm<T extends Tensor = Tensor>(
    mean: TensorLike,
    variance: TensorLike,
    offset?: TensorLike | null,
    scale?: TensorLike | null,
    varianceEpsilon?: number,
  ): T;
  /** Repeated to a shape. See `tf.broadcastTo`. */
  broadcastTo<T extends Tensor = Tensor>(shape: TensorLike): T;
  /** A copy of the elements in a buffer; awaits the device. See `tf.buffer`. */
  buffer(): Promise<ChainedBuffer>;
  /** A copy of the elements in a buffer, at once; see `dataSync()`. */
  bufferSync(): ChainedBuffer;
  /** A copy of the elements as bytes; of strings, the bytes of each. */
  bytes(): Promise<Uint8Array[] | Uint8Array>;
  /** In another dtype. See `tf.cast`. */
  cast<T extends Tensor = Tensor>(dtype: DType): T;
  /** Rounded up. See `tf.ceil`. */
  ceil<T extends Tensor = Tensor>(): T;
  /** Bounded below and above. See `tf.clipByValue`. */
  clipByValue<T extends Tensor = Tensor>(min: number, max: number): T;
  /** The same tensor under another handle. See `tf.clone`. */
  clone<T extends Tensor = Tensor>(): T;
  /** Joined with other tensors along an axis. See `tf.concat`. */
  concat<T extends Tensor = Tensor>(tensors: TensorLike | readonly TensorLike[], axis?: number): T;
  /** Joined with composite values. See `tf.concat`. */
  concat<Y extends CompositeTensor>(tensors: Y | readonly (Y | TensorLike)[], axis?: number): Y;
  /** Cosine. See `tf.cos`. */
  cos<T extends Tensor = Tensor>(): T;
  /** Hyperbolic cosine. See `tf.cosh`. */
  cosh<T extends Tensor = Tensor>(): T;
  /** Running products along an axis. See `tf.cumprod`. */
  cumprod<T extends Tensor = Tensor>(axis?: number, exclusive?: boolean, reverse?: boolean): T;
  /** Running sums along an axis. See `tf.cumsum`. */
  cumsum<T extends Tensor = Tensor>(axis?: number, exclusive?: boolean, reverse?: boolean): T;
  /** `this / b`. See `tf.div`. */
  div: ChainedBinary;
  /** `this / b`, 0 where divided by 0. See `tf.divNoNan`. */
  divNoNan: ChainedBinary;
  /** Dot product. See `tf.dot`. */
  dot<T extends Tensor = Tensor>(b: TensorLike): T;
  /** Exponential linear unit. See `tf.elu`. */
  elu<T extends Tensor = Tensor>(): T;
  /** True for elements equal to `b`. See `tf.equal`. */
  equal: ChainedBinary;
  /** Error function. See `tf.erf`. */
  erf<T extends Tensor = Tensor>(): T;
  /** Square root of the sum of squares. See `tf.euclideanNorm`. */
  euclideanNorm<T extends Tensor = Tensor>(axis?: ChainedAxes, keepDims?: boolean): T;
  /** `e ** x`. See `tf.exp`. */
  exp<T extends Tensor = Tensor>(): T;
  /** With an axis of extent 1 inserted. See `tf.expandDims`. */
  expandDims<T extends Tensor = Tensor>(axis?: number): T;
  /** `e ** x - 1`. See `tf.expm1`. */
  expm1<T extends Tensor = Tensor>(): T;
  /** Discrete Fourier transform of a complex tensor. See `tf.fft`. */
  fft<T extends Tensor = Tensor>(): T;
  /** As one axis. See `tf.reshape`. */
  flatten(): Tensor<Rank.R1>;
  /** Rounded down. See `tf.floor`. */
  floor<T extends Tensor = Tensor>(): T;
  /** `this / b` rounded down. See `tf.floorDiv`. */
  floorDiv: ChainedBinary;
  /** Slices at indices along an axis. See `tf.gather`. */
  gather<T extends Tensor = Tensor>(indices: TensorLike, axis?: number, batchDims?: number): T;
  /** Elements at composite indices. See `tf.gather`. */
  gather<Y extends CompositeTensor>(indices: Y, axis?: number, batchDims?: number): Y;
  /** `this > b`. See `tf.greater`. */
  greater: ChainedBinary;
  /** `this >= b`. See `tf.greaterEqual`. */
  greaterEqual: ChainedBinary;
  /** Inverse Fourier transform of a complex tensor. See `tf.ifft`. */
  ifft<T extends Tensor = Tensor>(): T;
  /** Inverse Fourier transform to a real tensor. See `tf.irfft`. */
  irfft<T extends Tensor = Tensor>(): T;
  /** True for elements neither infinite nor NaN. See `tf.isFinite`. */
  isFinite<T extends Tensor = Tensor>(): T;
  /** True for infinite elements. See `tf.isInf`. */
  isInf<T extends Tensor = Tensor>(): T;
  /** True for NaN. See `tf.isNaN`. */
  isNaN<T extends Tensor = Tensor>(): T;
  /** This where positive, else `alpha * this`. See `tf.leakyRelu`. */
  leakyRelu<T extends Tensor = Tensor>(alpha?: number): T;
  /** `this < b`. See `tf.less`. */
  less: ChainedBinary;
  /** `this <= b`. See `tf.lessEqual`. */
  lessEqual: ChainedBinary;
  /** Natural logarithm. See `tf.log`. */
  log<T extends Tensor = Tensor>(): T;
  /** `log(1 + x)`. See `tf.log1p`. */
  log1p<T extends Tensor = Tensor>(): T;
  /** `this && b`. See `tf.logicalAnd`. */
  logicalAnd: ChainedBinary;
  /** `!x`. See `tf.logicalNot`. */
  logicalNot<T extends Tensor = Tensor>(): T;
  /** `this || b`. See `tf.logicalOr`. */
  logicalOr: ChainedBinary;
  /** True for elements of which exactly one is true. See `tf.logicalXor`. */
  logicalXor: ChainedBinary;
  /** Logarithm of the sigmoid. See `tf.logSigmoid`. */
  logSigmoid<T extends Tensor = Tensor>(): T;
  /** Logarithm of the softmax. See `tf.logSoftmax`. */
  logSoftmax<T extends Tensor = Tensor>(axis?: number): T;
  /** Logarithm of the sum of exponentials. See `tf.logSumExp`. */
  logSumExp<T extends Tensor = Tensor>(axis?: ChainedAxes, keepDims?: boolean): T;
  /** Matrix product. See `tf.matMul`. */
  matMul<T extends Tensor = Tensor>(b: TensorLike, transposeA?: boolean, transposeB?: boolean): T;
  /** Matrix product with a composite value. See `tf.matMul`. */
  matMul<Y extends CompositeTensor>(
    b: Y,
    transposeA?: boolean,
    transposeB?: boolean,
  ): Like<Dequantized<Y>>;
  /** Largest element along axes. See `tf.max`. */
  max<T extends Tensor = Tensor>(axis?: ChainedAxes, keepDims?: boolean): T;
  /** The larger of `this` and `b`. See `tf.maximum`. */
  maximum: ChainedBinary;
  /** Mean along axes. See `tf.mean`. */
  mean<T extends Tensor = Tensor>(axis?: ChainedAxes, keepDims?: boolean): T;
  /** Smallest element along axes. See `tf.min`. */
  min<T extends Tensor = Tensor>(axis?: ChainedAxes, keepDims?: boolean): T;
  /** The smaller of `this` and `b`. See `tf.minimum`. */
  minimum: ChainedBinary;
  /** With its mirror image around it. See `tf.mirrorPad`. */
  mirrorPad<T extends Tensor = Tensor>(
    paddings: readonly (readonly [number, number])[] | TensorLike,
    mode: "reflect" | "symmetric",
  ): T;
  /** Remainder with the sign of `b`. See `tf.mod`. */
  mod: ChainedBinary;
  /** `this * b`. See `tf.mul`. */
  mul: ChainedBinary;
  /** `-x`. See `tf.neg`. */
  neg<T extends Tensor = Tensor>(): T;
  /** Norm of vectors or matrices. See `tf.norm`. */
  norm<T extends Tensor = Tensor>(
    ord?: number | "euclidean" | "fro",
    axis?: ChainedAxes,
    keepDims?: boolean,
  ): T;
  /** True for elements different from `b`. See `tf.notEqual`. */
  notEqual: ChainedBinary;
  /** Indices as one-hot vectors. See `tf.oneHot`. */
  oneHot<T extends Tensor = Tensor>(depth: number, onValue?: number, offValue?: number): T;
  /** Ones of this shape and dtype. See `tf.onesLike`. */
  onesLike<T extends Tensor = Tensor>(): T;
  /** With a constant around it. See `tf.pad`. */
  pad<T extends Tensor = Tensor>(
    paddings: readonly (readonly [number, number])[] | TensorLike,
    constantValue?: number,
  ): T;
  /** `this ** exp`. See `tf.pow`. */
  pow: ChainedBinary;
  /** This where not negative, else `alpha * this`. See `tf.prelu`. */
  prelu: ChainedBinary;
  /** Writes the elements to the console. See `tf.print`. */
  print(verbose?: boolean): void;
  /** Product along axes. See `tf.prod`. */
  prod<T extends Tensor = Tensor>(axis?: ChainedAxes, keepDims?: boolean): T;
  /** `1 / x`. See `tf.reciprocal`. */
  reciprocal<T extends Tensor = Tensor>(): T;
  /** `max(x, 0)`. See `tf.relu`. */
  relu<T extends Tensor = Tensor>(): T;
  /** `min(max(x, 0), 6)`. See `tf.relu6`. */
  relu6<T extends Tensor = Tensor>(): T;
  /** In another shape; one dimension may be -1. See `tf.reshape`. */
  reshape<R extends Rank>(shape: TensorLike): Tensor<R>;
  /** In the shape of another tensor. See `tf.reshape`. */
  reshapeAs<T extends Tensor = Tensor>(x: Tensor): T;
  /** Reversed along axes. See `tf.reverse`. */
  reverse<T extends Tensor = Tensor>(axis?: ChainedAxes): T;
  /** Discrete Fourier transform of a real tensor. See `tf.rfft`. */
  rfft<T extends Tensor = Tensor>(): T;
  /** Nearest integer, halves to even. See `tf.round`. */
  round<T extends Tensor = Tensor>(): T;
  /** `1 / sqrt(x)`. See `tf.rsqrt`. */
  rsqrt<T extends Tensor = Tensor>(): T;
  /** Scaled exponential linear unit. See `tf.selu`. */
  selu<T extends Tensor = Tensor>(): T;
  /** `1 / (1 + e ** -x)`. See `tf.sigmoid`. */
  sigmoid<T extends Tensor = Tensor>(): T;
  /** -1, 0 or 1. See `tf.sign`. */
  sign<T extends Tensor = Tensor>(): T;
  /** Sine. See `tf.sin`. */
  sin<T extends Tensor = Tensor>(): T;
  /** Hyperbolic sine. See `tf.sinh`. */
  sinh<T extends Tensor = Tensor>(): T;
  /** A block of the tensor. See `tf.slice`. */
  slice<T extends Tensor = Tensor>(begin: TensorLike, size?: TensorLike | null): T;
  /** Exponentials over their sum along an axis. See `tf.softmax`. */
  softmax<T extends Tensor = Tensor>(dim?: number): T;
  /** `log(1 + e ** x)`. See `tf.softplus`. */
  softplus<T extends Tensor = Tensor>(): T;
  /** Cut into pieces along an axis. See `tf.split`. */
  split<T extends Tensor = Tensor>(numOrSizeSplits: number | readonly number[], axis?: number): T[];
  /** Square root. See `tf.sqrt`. */
  sqrt<T extends Tensor = Tensor>(): T;
  /** `x * x`. See `tf.square`. */
  square<T extends Tensor = Tensor>(): T;
  /** `(this - b) ** 2`. See `tf.squaredDifference`. */
  squaredDifference: ChainedBinary;
  /** Without axes of extent 1. See `tf.squeeze`. */
  squeeze<T extends Tensor = Tensor>(axis?: ChainedAxes): T;
  /** Joined with other tensors along a new axis. See `tf.stack`. */
  stack<T extends Tensor = Tensor>(x: Tensor | readonly Tensor[], axis?: number): T;
  /** Stacked with composite values. See `tf.stack`. */
  stack<Y extends CompositeTensor>(x: Y | readonly (Y | Tensor)[], axis?: number): Y;
  /** 1 where positive, else `alpha`. See `tf.step`. */
  step<T extends Tensor = Tensor>(alpha?: number): T;
  /** Elements of a block at a stride. See `tf.stridedSlice`. */
  stridedSlice<T extends Tensor = Tensor>(
    begin: TensorLike,
    end: TensorLike,
    strides?: TensorLike | null,
    beginMask?: number,
    endMask?: number,
    ellipsisMask?: number,
    newAxisMask?: number,
    shrinkAxisMask?: number,
  ): T;
  /** `this - b`. See `tf.sub`. */
  sub: ChainedBinary;
  /** Sum along axes. See `tf.sum`. */
  sum<T extends Tensor = Tensor>(axis?: ChainedAxes, keepDims?: boolean): T;
  /** Tangent. See `tf.tan`. */
  tan<T extends Tensor = Tensor>(): T;
  /** Hyperbolic tangent. See `tf.tanh`. */
  tanh<T extends Tensor = Tensor>(): T;
  /** Repeated along each axis. See `tf.tile`. */
  tile<T extends Tensor = Tensor>(reps: TensorLike): T;
  /** As bool: where not 0. See `tf.cast`. */
  toBool<T extends Tensor = Tensor>(): T;
  /** As float32. See `tf.cast`. */
  toFloat<T extends Tensor = Tensor>(): T;
  /** As int32. See `tf.cast`. */
  toInt<T extends Tensor = Tensor>(): T;
  /** The largest elements along the last axis, and their indices. See `tf.topk`. */
  topk(k?: number, sorted?: boolean): { values: Tensor; indices: Tensor };
  /** With its axes in another order. See `tf.transpose`. */
  transpose<T extends Tensor = Tensor>(perm?: TensorLike | null): T;
  /** Unique elements, and the index of each element among them. See `tf.unique`. */
  unique(axis?: number): { values: Tensor; indices: Tensor };
  /** Sums of the slices of each segment. See `tf.unsortedSegmentSum`. */
  unsortedSegmentSum<T extends Tensor = Tensor>(segmentIds: TensorLike, numSegments: number): T;
  /** Cut into slices along an axis. See `tf.unstack`. */
  unstack<T extends Tensor = Tensor>(axis?: number): T[];
  /** This where the condition holds, `x` elsewhere. See `tf.where`. */
  where<T extends Tensor = Tensor>(condition: TensorLike, x: TensorLike): T;
  /** Elements of composite values where a condition is false. See `tf.where`. */
  where<Y extends CompositeTensor>(condition: Y | TensorLike, x: Y | TensorLike): Y;
  /** Zeros of this shape and dtype. See `tf.zerosLike`. */
  zerosLike<T extends Tensor = Tensor>(): T;
}
