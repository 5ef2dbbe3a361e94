/** Convolutions over one and two axes. */
import { compose } from "../../core/apply.ts";
import type { OpDef } from "../../core/op.ts";
import type { Portable } from "../../core/portable.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import { expandDims, squeeze } from "../array/view.ts";
import {
  checkSame,
  convolve,
  convolveTransposed,
  extentOf,
  type Padding,
  type PerAxis,
  type RoundingMode,
  toFilter,
  withBatch,
} from "./conv_arguments.ts";
import { defineConvFamily } from "./conv_family.ts";
import { asTensor } from "../input.ts";

export const CONV_2D_ATTRS: readonly string[] = [
  "T: {float16, bfloat16, float32, float64, int32}",
  "strides: list(int)",
  "use_cudnn_on_gpu: bool = true",
  "padding: string",
  "explicit_paddings: list(int) = []",
  'data_format: string = "NHWC"',
  "dilations: list(int) = [1, 1, 1, 1]",
];

/** TensorFlow's gradients have only int32 sizes. */
const SIZED: { sizes: string; portable: Portable } = {
  sizes: "Tsizes",
  portable: { without: { Tsizes: (v) => v === "int32" } },
};

const FAMILY = defineConvFamily({
  fn: "conv2d",
  rank: 4,
  attrs: CONV_2D_ATTRS,
  forward: { name: "Conv2D" },
  inputGradient: { name: "Conv2DBackpropInput", ...SIZED },
  filterGradient: { name: "Conv2DBackpropFilter", ...SIZED },
});

export const Conv2D: OpDef = FAMILY.forward;

/**
 * Convolution over two axes: `x` is `[batch, height, width, inChannels]` (or without batch), `filter`
 * `[height, width, inChannels, outChannels]`. `pad` is `"valid"`, `"same"`, a number or `[before, after]` per axis.
 * TensorFlow op `Conv2D`. Throws `ValueError` where shapes do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 2, 3, 4], [2, 2, 1]);
 * const filter = tf.tensor([1, 1, 1, 1], [2, 2, 1, 1]);
 * console.log(tf.conv2d(x, filter, 1, "valid").arraySync()); // [[[10]]]
 * ```
 */
export function conv2d(
  x: TensorLike,
  filter: TensorLike,
  strides: PerAxis,
  pad: Padding,
  dataFormat: "NHWC" | "NCHW" = "NHWC",
  dilations: PerAxis = 1,
  dimRoundingMode?: RoundingMode,
): Tensor {
  const args = { x, filter, strides, pad, dataFormat, dilations, dimRoundingMode };
  return convolve(Conv2D, "conv2d", 4, args);
}

/**
 * Convolution over one axis: `x` is `[batch, width, inChannels]` (or without batch), `filter` `[width, inChannels,
 * outChannels]`. A `Conv2D`. Throws `ValueError` where shapes do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 2, 3], [3, 1]);
 * console.log(tf.conv1d(x, tf.tensor([1, 1], [2, 1, 1]), 1, "valid").arraySync()); // [[3], [5]]
 * ```
 */
export function conv1d(
  x: TensorLike,
  filter: TensorLike,
  stride: number,
  pad: Padding,
  dataFormat: "NWC" | "NCW" = "NWC",
  dilation = 1,
  dimRoundingMode?: RoundingMode,
): Tensor {
  return compose(() => {
    const { x: input, restore } = withBatch(x, 3, "conv1d");
    const kernel = toFilter(filter, 3, "conv1d");
    if (dataFormat !== "NWC") {
      throw new ValueError(
        `Error in conv1d: got dataFormat of ${dataFormat} but only NWC is supported`,
      );
    }
    checkSame(
      extentOf(input, 2),
      extentOf(kernel, 1),
      "Error in conv1d: depth of input must match input depth for filter",
    );
    const pads: Padding = typeof pad === "number"
      ? [[0, 0], [pad, pad]]
      : typeof pad === "string" || pad.length === 4
      ? pad
      : [[0, 0], ...(pad.length === 3 ? pad.slice(1, 2) : pad)];
    const y = conv2d(
      expandDims(asTensor(input), 1),
      expandDims(asTensor(kernel), 0),
      [1, stride],
      pads,
      "NHWC",
      [1, dilation],
      dimRoundingMode,
    );
    return restore(squeeze(y, [1]));
  });
}

/**
 * Transposed convolution: the gradient of {@linkcode conv2d} with respect to its input. `x` is `[batch, height, width,
 * inChannels]` (or without batch), `filter` `[height, width, outChannels, inChannels]`, `outputShape` the shape of the result.
 * TensorFlow op `Conv2DBackpropInput`. Throws `ValueError` where shapes do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const y = tf.conv2dTranspose(tf.tensor([2], [1, 1, 1]), tf.tensor([1, 2, 3, 4], [2, 2, 1, 1]), [2, 2, 1], 1, "valid");
 * console.log(y.flatten().arraySync()); // [2, 4, 6, 8]
 * ```
 */
export function conv2dTranspose(
  x: TensorLike,
  filter: TensorLike,
  outputShape: readonly number[] | Tensor,
  strides: PerAxis,
  pad: Padding,
  dimRoundingMode?: RoundingMode,
): Tensor {
  const args = { x, filter, outputShape, strides, pad, dataFormat: "NHWC", dimRoundingMode };
  return convolveTransposed(FAMILY.inputGradient, "conv2dTranspose", 4, args);
}

/** Transposed convolution whose filter has gaps between its taps: {@linkcode conv2dTranspose} with `dilations` and no strides. */
export function dilatedConv2dTranspose(
  x: TensorLike,
  filter: TensorLike,
  outputShape: readonly number[] | Tensor,
  pad: Padding,
  dilations: PerAxis,
): Tensor {
  const args = { x, filter, outputShape, strides: 1, pad, dataFormat: "NHWC", dilations };
  return convolveTransposed(FAMILY.inputGradient, "atrousConv2dTranspose", 4, args);
}
