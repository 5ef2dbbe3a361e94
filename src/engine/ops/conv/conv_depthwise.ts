/** Depthwise and separable convolutions. */
import { compose, type OpInput } from "../../core/apply.ts";
import type { OpDef } from "../../core/op.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import {
  depthwiseBackwardFilter,
  depthwiseBackwardInput,
  depthwiseForward,
} from "../../kernels/host/conv_depthwise.ts";
import { conv2d } from "./conv.ts";
import {
  checkSame,
  convolve,
  extentOf,
  type Padding,
  type PerAxis,
  type RoundingMode,
  toFilter,
  withBatch,
} from "./conv_arguments.ts";
import { defineConvFamily } from "./conv_family.ts";

export const DEPTHWISE_ATTRS: readonly string[] = [
  "T: floating",
  "strides: list(int)",
  "padding: string",
  "explicit_paddings: list(int) = []",
  'data_format: string = "NHWC"',
  "dilations: list(int) = [1, 1, 1, 1]",
];

export const DepthwiseConv2dNative: OpDef = defineConvFamily({
  fn: "depthwiseConv2d",
  rank: 4,
  attrs: DEPTHWISE_ATTRS,
  forward: { name: "DepthwiseConv2dNative" },
  inputGradient: { name: "DepthwiseConv2dNativeBackpropInput" },
  filterGradient: { name: "DepthwiseConv2dNativeBackpropFilter" },
  depthwise: {
    forward: depthwiseForward,
    inputGradient: depthwiseBackwardInput,
    filterGradient: depthwiseBackwardFilter,
  },
}).forward;

/**
 * Convolution of each channel with its own filters: `x` is `[batch, height, width, channels]` (or without batch), `filter`
 * `[height, width, channels, multiplier]`, the result has `channels * multiplier` channels.
 * TensorFlow op `DepthwiseConv2dNative`. Throws `ValueError` where shapes do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 2, 3, 4], [1, 2, 2]);
 * const filter = tf.tensor([1, 10, 100, 1000], [1, 2, 2, 1]);
 * console.log(tf.depthwiseConv2d(x, filter, 1, "valid").arraySync()); // [[[301, 4020]]]
 * ```
 */
export function depthwiseConv2d(
  x: TensorLike,
  filter: TensorLike,
  strides: PerAxis,
  pad: Padding,
  dataFormat: "NHWC" | "NCHW" = "NHWC",
  dilations: PerAxis = 1,
  dimRoundingMode?: RoundingMode,
): Tensor {
  const args = { x, filter, strides, pad, dataFormat, dilations, dimRoundingMode };
  return convolve(DepthwiseConv2dNative, "depthwiseConv2d", 4, args);
}

/** Returns the number of output channels of a depthwise filter; null if unknown. */
export function depthwiseChannels(filter: OpInput): number | null {
  const channels = extentOf(filter, 2), multiplier = extentOf(filter, 3);
  return channels === null || multiplier === null ? null : channels * multiplier;
}

/**
 * Depthwise convolution followed by a 1×1 convolution: `pointwiseFilter` is `[1, 1, channels * multiplier, outChannels]`.
 * Follows TensorFlow `separable_conv2d`. Throws `ValueError` where shapes do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 2, 3, 4], [2, 2, 1]);
 * const depthwise = tf.tensor([1, 1, 1, 1], [2, 2, 1, 1]);
 * const pointwise = tf.tensor([1, -1], [1, 1, 1, 2]);
 * console.log(tf.separableConv2d(x, depthwise, pointwise, 1, "valid").arraySync()); // [[[10, -10]]]
 * ```
 */
export function separableConv2d(
  x: TensorLike,
  depthwiseFilter: TensorLike,
  pointwiseFilter: TensorLike,
  strides: PerAxis,
  pad: Padding,
  dilation: PerAxis = 1,
  dataFormat: "NHWC" | "NCHW" = "NHWC",
): Tensor {
  if (dataFormat !== "NHWC") {
    throw new ValueError(
      `Error in separableConv2d: only dataFormat NHWC is supported, received ${dataFormat}`,
    );
  }
  return compose(() => {
    const { x: image, restore } = withBatch(x, 4, "separableConv2d");
    const depthwise = toFilter(depthwiseFilter, 4, "separableConv2d", "depthwiseFilter");
    const pointwise = toFilter(pointwiseFilter, 4, "separableConv2d", "pointwiseFilter");
    for (const axis of [0, 1]) {
      const what = "Error in separableConv2d: pointwise filter must be 1×1";
      checkSame(extentOf(pointwise, axis), 1, what);
    }
    checkSame(
      extentOf(pointwise, 2),
      depthwiseChannels(depthwise),
      "Error in separableConv2d: third dimension of pointwise filter must match the output channels of the depthwise one",
    );
    const middle = depthwiseConv2d(image, depthwise, strides, pad, dataFormat, dilation);
    return restore(conv2d(middle, pointwise, 1, "valid", dataFormat));
  });
}
