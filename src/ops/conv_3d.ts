/**
 * Convolutions over three axes, and their gradients.
 * May import core and kernels.
 */
import { apply1, type OpInput } from "../core/apply.ts";
import { type Attrs, defineOp } from "../core/op.ts";
import { shapeText } from "../core/shape.ts";
import type { Tensor, TensorLike } from "../core/tensor.ts";
import { ValueError } from "../core/errors.ts";
import {
  convBackwardFilter,
  convBackwardInput,
  convForward,
  runConv,
} from "../kernels/conv_cpu.ts";
import { checkRank, windowGeometry } from "../kernels/conv_geometry.ts";
import { CONV_FILTER_VARIANTS, CONV_INPUT_VARIANTS, CONV_VARIANTS } from "../kernels/conv_gpu.ts";
import { hostInts } from "./array_view.ts";
import { checkGradient, convAttrs, convShape } from "./conv.ts";
import {
  checkSame,
  extentOf,
  type Padding,
  type PerAxis,
  toFilter,
  windowAttrs,
  withBatch,
} from "./conv_arguments.ts";
import { intVector, shapeOfInput, toIndexInput } from "./input.ts";

// `explicit_paddings` is ours: TensorFlow knows only SAME and VALID here.
const ATTRS = [
  "T: floating",
  "strides: list(int)",
  "padding: string",
  "explicit_paddings: list(int) = []",
  'data_format: string = "NDHWC"',
  "dilations: list(int) = [1, 1, 1, 1, 1]",
];

const Conv3D = defineOp({
  name: "Conv3D",
  inputs: ["input: T", "filter: T"],
  outputs: ["output: T"],
  attrs: ATTRS,
  kind: "anchor",
  infer: ([x, filter], attrs) => [convShape("Conv3D", x, filter, attrs, 5)],
  grad: {
    saves: ["input", "filter"],
    vjp: ({ input, filter }, [dy], { attrs, needs, shapeOf }) => [
      needs[0] ? inputGradient(shapeOf(0), filter, dy, attrs) : null,
      needs[1] ? filterGradient(input, shapeOf(1), dy, attrs) : null,
    ],
  },
  cpu: ([x, filter], [out], { attrs }) =>
    runConv(
      convForward,
      windowGeometry(x.shape, filter.shape, filter.shape[4], attrs),
      x,
      filter,
      out,
    ),
  gpu: CONV_VARIANTS,
});

const BackpropInput = defineOp({
  name: "Conv3DBackpropInputV2",
  inputs: ["input_sizes: Tshape", "filter: T", "out_backprop: T"],
  outputs: ["output: T"],
  attrs: [...ATTRS, "Tshape: index = int32"],
  hostInputs: ["input_sizes"],
  kind: "anchor",
  infer: ([sizes, filter, dy], attrs) => {
    checkRank(filter.shape, 5, "Conv3DBackpropInputV2", "filter");
    checkRank(dy.shape, 5, "Conv3DBackpropInputV2", "out_backprop");
    if (sizes.value === undefined) return [[null, null, null, null, null]];
    const shape = hostInts(sizes.value);
    const want = convShape("Conv3DBackpropInputV2", { dtype: dy.dtype, shape }, filter, attrs, 5);
    checkGradient("Conv3DBackpropInputV2", want, dy.shape);
    return [shape];
  },
  grad: {
    saves: ["filter", "out_backprop"],
    vjp: ({ filter, out_backprop }, [g], { attrs, needs, shapeOf }) => [
      null,
      needs[1] ? filterGradient(g, shapeOf(1), out_backprop, attrs) : null,
      needs[2] ? apply1(Conv3D, [g, filter], convAttrs(attrs)) : null,
    ],
  },
  cpu: ([, filter, dy], [out], { attrs }) =>
    runConv(
      convBackwardInput,
      windowGeometry(out.shape, filter.shape, filter.shape[4], attrs),
      dy,
      filter,
      out,
    ),
  gpu: CONV_INPUT_VARIANTS,
});

const BackpropFilter = defineOp({
  name: "Conv3DBackpropFilterV2",
  inputs: ["input: T", "filter_sizes: int32", "out_backprop: T"],
  outputs: ["output: T"],
  attrs: ATTRS,
  hostInputs: ["filter_sizes"],
  kind: "anchor",
  infer: ([x, sizes, dy], attrs) => {
    checkRank(x.shape, 5, "Conv3DBackpropFilterV2", "input");
    checkRank(dy.shape, 5, "Conv3DBackpropFilterV2", "out_backprop");
    if (sizes.value === undefined) return [[null, null, null, null, null]];
    const shape = hostInts(sizes.value);
    const want = convShape("Conv3DBackpropFilterV2", x, { dtype: dy.dtype, shape }, attrs, 5);
    checkGradient("Conv3DBackpropFilterV2", want, dy.shape);
    return [shape];
  },
  grad: {
    saves: ["input", "out_backprop"],
    vjp: ({ input, out_backprop }, [g], { attrs, needs, shapeOf }) => [
      needs[0] ? inputGradient(shapeOf(0), g, out_backprop, attrs) : null,
      null,
      needs[2] ? apply1(Conv3D, [input, g], convAttrs(attrs)) : null,
    ],
  },
  cpu: ([x, , dy], [out], { attrs }) =>
    runConv(
      convBackwardFilter,
      windowGeometry(x.shape, out.shape, out.shape[4], attrs),
      x,
      dy,
      out,
    ),
  gpu: CONV_FILTER_VARIANTS,
});

function inputGradient(sizes: TensorLike, filter: OpInput, dy: OpInput, attrs: Attrs): Tensor {
  return apply1(
    BackpropInput,
    [toIndexInput(sizes, "inputSizes", "conv3d"), filter, dy],
    convAttrs(attrs),
  );
}

function filterGradient(x: OpInput, sizes: TensorLike, dy: OpInput, attrs: Attrs): Tensor {
  return apply1(
    BackpropFilter,
    [x, toIndexInput(sizes, "filterSizes", "conv3d"), dy],
    convAttrs(attrs),
  );
}

/**
 * Convolution over three axes: `x` is `[batch, depth, height, width, inChannels]` (or without batch), `filter` `[depth,
 * height, width, inChannels, outChannels]`. TensorFlow op `Conv3D`. Throws `ValueError` where shapes do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const x = tf.tensor([1, 2, 3, 4, 5, 6, 7, 8], [2, 2, 2, 1]);
 * const filter = tf.tensor([1, 1, 1, 1, 1, 1, 1, 1], [2, 2, 2, 1, 1]);
 * assertEquals(tf.conv3d(x, filter, 1, "valid").arraySync(), [[[[36]]]]);
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
  const { x: input, restore } = withBatch(x, 5, "conv3d");
  const kernel = toFilter(filter, 5, "conv3d");
  checkSame(
    extentOf(input, dataFormat === "NCDHW" ? 1 : 4),
    extentOf(kernel, 3),
    "Error in conv3d: depth of input must match input depth for filter",
  );
  const attrs = windowAttrs({
    fn: "conv3d",
    input: shapeOfInput(input),
    window: [0, 1, 2].map((a) => extentOf(kernel, a)),
    strides,
    pad,
    dataFormat,
    dilations,
  });
  return restore(apply1(Conv3D, [input, kernel], attrs as unknown as Attrs));
}

/**
 * Transposed convolution over three axes: the gradient of {@linkcode conv3d} with respect to its input. `filter` is
 * `[depth, height, width, outChannels, inChannels]`. TensorFlow op `Conv3DBackpropInputV2`. Throws `ValueError` where
 * shapes do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const filter = tf.tensor([1, 2, 3, 4], [1, 2, 2, 1, 1]);
 * const y = tf.conv3dTranspose(tf.tensor([2], [1, 1, 1, 1]), filter, [1, 2, 2, 1], 1, "valid");
 * assertEquals(y.flatten().arraySync(), [2, 4, 6, 8]);
 * ```
 */
export function conv3dTranspose(
  x: TensorLike,
  filter: TensorLike,
  outputShape: readonly number[],
  strides: PerAxis,
  pad: Padding,
): Tensor {
  const { x: input, restore } = withBatch(x, 5, "conv3dTranspose");
  const kernel = toFilter(filter, 5, "conv3dTranspose");
  const full = outputShape.length === 4
    ? [extentOf(input, 0) ?? 1, ...outputShape]
    : [...outputShape];
  if (full.length !== 5) {
    throw new ValueError(
      `Error in conv3dTranspose: outputShape must have 4 or 5 entries, received ${shapeText(full)}`,
    );
  }
  checkSame(
    extentOf(input, 4),
    extentOf(kernel, 4),
    "Error in conv3dTranspose: depth of input must match that of filter",
  );
  checkSame(
    full[4],
    extentOf(kernel, 3),
    "Error in conv3dTranspose: depth of outputShape must match that of filter",
  );
  const attrs = windowAttrs({
    fn: "conv3dTranspose",
    input: full,
    window: [0, 1, 2].map((a) => extentOf(kernel, a)),
    strides,
    pad,
    dataFormat: "NDHWC",
  });
  return restore(
    apply1(BackpropInput, [intVector(full), kernel, input], attrs as unknown as Attrs),
  );
}
