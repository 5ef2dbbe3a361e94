/** Convolutions over three axes. */
import type { Portable } from "../../core/portable.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { convolve, convolveTransposed, type Padding, type PerAxis } from "./conv_arguments.ts";
import { defineConvFamily } from "./conv_family.ts";

// `explicit_paddings` is ours: TensorFlow knows only SAME and VALID here.
const ATTRS = [
  "T: floating",
  "strides: list(int)",
  "padding: string",
  "explicit_paddings: list(int) = []",
  'data_format: string = "NDHWC"',
  "dilations: list(int) = [1, 1, 1, 1, 1]",
];

const portable: Portable = {
  without: { explicit_paddings: (v) => (v as number[]).length === 0 },
};

const FAMILY = defineConvFamily({
  fn: "conv3d",
  rank: 5,
  attrs: ATTRS,
  forward: { name: "Conv3D", portable },
  inputGradient: { name: "Conv3DBackpropInputV2", sizes: "Tshape", portable },
  filterGradient: { name: "Conv3DBackpropFilterV2", portable },
});

/**
 * Convolution over three axes: `x` is `[batch, depth, height, width, inChannels]` (or without batch), `filter` `[depth,
 * height, width, inChannels, outChannels]`. TensorFlow op `Conv3D`. Throws `ValueError` where shapes do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 2, 3, 4, 5, 6, 7, 8], [2, 2, 2, 1]);
 * const filter = tf.tensor([1, 1, 1, 1, 1, 1, 1, 1], [2, 2, 2, 1, 1]);
 * console.log(tf.conv3d(x, filter, 1, "valid").arraySync()); // [[[[36]]]]
 * ```
 */
export function conv3d(
  x: TensorLike,
  filter: TensorLike,
  strides: PerAxis,
  pad: Padding,
  dataFormat: "NDHWC" | "NCDHW" = "NDHWC",
  dilations: PerAxis = 1,
): Tensor {
  const args = { x, filter, strides, pad, dataFormat, dilations };
  return convolve(FAMILY.forward, "conv3d", 5, args);
}

/**
 * Transposed convolution over three axes: the gradient of {@linkcode conv3d} with respect to its input. `filter` is
 * `[depth, height, width, outChannels, inChannels]`. TensorFlow op `Conv3DBackpropInputV2`. Throws `ValueError` where
 * shapes do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const filter = tf.tensor([1, 2, 3, 4], [1, 2, 2, 1, 1]);
 * const y = tf.conv3dTranspose(tf.tensor([2], [1, 1, 1, 1]), filter, [1, 2, 2, 1], 1, "valid");
 * console.log(y.flatten().arraySync()); // [2, 4, 6, 8]
 * ```
 */
export function conv3dTranspose(
  x: TensorLike,
  filter: TensorLike,
  outputShape: readonly number[],
  strides: PerAxis,
  pad: Padding,
): Tensor {
  const args = { x, filter, outputShape, strides, pad, dataFormat: "NDHWC" };
  return convolveTransposed(FAMILY.inputGradient, "conv3dTranspose", 5, args);
}
