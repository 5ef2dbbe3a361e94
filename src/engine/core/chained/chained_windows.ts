/** The methods of tensors that move a window, as types: convolutions, pools, blocks, resizing. See `chained_ops.ts`. */
import type { Tensor, TensorLike } from "../tensor.ts";

/** Zeros around a window's input: TensorFlow's rules, a number for all sides, or both sides of each axis. */
export type ChainedPadding = "valid" | "same" | number | readonly (readonly [number, number])[];
/** Rounding of output extents where padding is a number. */
export type ChainedRounding = "floor" | "round" | "ceil";
/** One number for all spatial axes, or one per axis. */
export type ChainedPerAxis = number | readonly number[];

/** Methods every tensor has, as the functions of the same name, over windows of its axes. */
export interface ChainedWindows {
  /** Means of windows. See `tf.avgPool`. */
  avgPool<T extends Tensor = Tensor>(
    filterSize: ChainedPerAxis,
    strides: ChainedPerAxis,
    pad: ChainedPadding,
    dimRoundingMode?: ChainedRounding,
  ): T;
  /** Blocks of the batch as space. See `tf.batchToSpaceND`. */
  batchToSpaceND<T extends Tensor = Tensor>(
    blockShape: readonly number[],
    crops: readonly (readonly [number, number])[],
  ): T;
  /** Convolution along one axis. See `tf.conv1d`. */
  conv1d<T extends Tensor = Tensor>(
    filter: TensorLike,
    stride: number,
    pad: ChainedPadding,
    dataFormat?: "NWC" | "NCW",
    dilation?: number,
    dimRoundingMode?: ChainedRounding,
  ): T;
  /** Convolution of images. See `tf.conv2d`. */
  conv2d<T extends Tensor = Tensor>(
    filter: TensorLike,
    strides: ChainedPerAxis,
    pad: ChainedPadding,
    dataFormat?: "NHWC" | "NCHW",
    dilations?: ChainedPerAxis,
    dimRoundingMode?: ChainedRounding,
  ): T;
  /** Transposed convolution of images. See `tf.conv2dTranspose`. */
  conv2dTranspose<T extends Tensor = Tensor>(
    filter: TensorLike,
    outputShape: readonly number[] | Tensor,
    strides: ChainedPerAxis,
    pad: ChainedPadding,
    dimRoundingMode?: ChainedRounding,
  ): T;
  /** Channels as space. See `tf.depthToSpace`. */
  depthToSpace<T extends Tensor = Tensor>(blockSize: number, dataFormat?: "NHWC" | "NCHW"): T;
  /** Convolution of each channel by itself. See `tf.depthwiseConv2d`. */
  depthwiseConv2d<T extends Tensor = Tensor>(
    filter: TensorLike,
    strides: ChainedPerAxis,
    pad: ChainedPadding,
    dataFormat?: "NHWC" | "NCHW",
    dilations?: ChainedPerAxis,
    dimRoundingMode?: ChainedRounding,
  ): T;
  /** Greatest sum of an element and the filter's tap over it. See `tf.dilation2d`. */
  dilation2d<T extends Tensor = Tensor>(
    filter: TensorLike,
    strides: ChainedPerAxis,
    pad: ChainedPadding,
    dilations?: ChainedPerAxis,
    dataFormat?: "NHWC",
  ): T;
  /** Normalised by neighbouring channels. See `tf.localResponseNormalization`. */
  localResponseNormalization<T extends Tensor = Tensor>(
    depthRadius?: number,
    bias?: number,
    alpha?: number,
    beta?: number,
  ): T;
  /** Maxima of windows. See `tf.maxPool`. */
  maxPool<T extends Tensor = Tensor>(
    filterSize: ChainedPerAxis,
    strides: ChainedPerAxis,
    pad: ChainedPadding,
    dimRoundingMode?: ChainedRounding,
  ): T;
  /** Maxima or means of windows. See `tf.pool`. */
  pool<T extends Tensor = Tensor>(
    windowShape: ChainedPerAxis,
    poolingType: "avg" | "max",
    pad: ChainedPadding,
    dilations?: ChainedPerAxis,
    strides?: ChainedPerAxis,
    dimRoundingMode?: ChainedRounding,
  ): T;
  /** Images resized with interpolation. See `tf.resizeBilinear`. */
  resizeBilinear<T extends Tensor = Tensor>(
    newShape2D: readonly [number, number],
    alignCorners?: boolean,
    halfPixelCenters?: boolean,
  ): T;
  /** Images resized without interpolation. See `tf.resizeNearestNeighbor`. */
  resizeNearestNeighbor<T extends Tensor = Tensor>(
    newShape2D: readonly [number, number],
    alignCorners?: boolean,
    halfPixelCenters?: boolean,
  ): T;
  /** Depthwise convolution, then one over channels. See `tf.separableConv2d`. */
  separableConv2d<T extends Tensor = Tensor>(
    depthwiseFilter: TensorLike,
    pointwiseFilter: TensorLike,
    strides: ChainedPerAxis,
    pad: "valid" | "same",
    dilation?: ChainedPerAxis,
    dataFormat?: "NHWC" | "NCHW",
  ): T;
  /** Blocks of space as the batch. See `tf.spaceToBatchND`. */
  spaceToBatchND<T extends Tensor = Tensor>(
    blockShape: readonly number[],
    paddings: readonly (readonly [number, number])[],
  ): T;
}
