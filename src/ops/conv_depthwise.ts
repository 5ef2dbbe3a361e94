/**
 * Depthwise and separable convolutions, and their gradients.
 * May import core and kernels.
 */
import { apply1, type OpInput } from "../core/apply.ts";
import { type Attrs, defineOp, type OpDef } from "../core/op.ts";
import type { PartialShape } from "../core/shape.ts";
import { type Spec, specText } from "../core/tensor_spec.ts";
import type { Tensor, TensorLike } from "../core/tensor.ts";
import { ValueError } from "../core/errors.ts";
import { runConv } from "../kernels/conv_cpu.ts";
import {
  depthwiseBackwardFilter,
  depthwiseBackwardInput,
  depthwiseForward,
} from "../kernels/conv_depthwise_cpu.ts";
import {
  checkRank,
  isChannelsFirst,
  orderShape,
  spatialAttrs,
  spatialAxes,
  spatialOutputs,
  windowGeometry,
} from "../kernels/conv_geometry.ts";
import {
  DEPTHWISE_FILTER_VARIANTS,
  DEPTHWISE_INPUT_VARIANTS,
  DEPTHWISE_VARIANTS,
} from "../kernels/conv_depthwise_gpu.ts";
import { hostInts } from "./array_view.ts";
import { checkGradient, conv2d, convAttrs } from "./conv.ts";
import {
  checkSame,
  extentOf,
  type Padding,
  type PerAxis,
  type RoundingMode,
  toFilter,
  windowAttrs,
  withBatch,
} from "./conv_arguments.ts";
import { shapeOfInput, toIndexInput } from "./input.ts";

const ATTRS = [
  "T: floating",
  "strides: list(int)",
  "padding: string",
  "explicit_paddings: list(int) = []",
  'data_format: string = "NHWC"',
  "dilations: list(int) = [1, 1, 1, 1]",
];

/** Shape of a depthwise convolution. Throws `ValueError` where shapes do not fit. */
export function depthwiseShape(op: string, x: Spec, filter: Spec, attrs: Attrs): PartialShape {
  checkRank(x.shape, 4, op, "input");
  checkRank(filter.shape, 4, op, "filter");
  const first = isChannelsFirst(attrs);
  const spatial = spatialAttrs(attrs, 4);
  const s = x.shape ?? [null, null, null, null], f = filter.shape ?? [null, null, null, null];
  const channels = s[first ? 1 : 3];
  if (channels !== null && f[2] !== null && channels !== f[2]) {
    throw new ValueError(
      `Cannot convolve ${specText(x)} with ${
        specText(filter)
      } in ${op}: depth of input (${channels}) must match that of filter, received ${f[2]}`,
    );
  }
  const known = channels ?? f[2];
  const sizes = spatialAxes(4, first).map((a) => s[a]);
  return orderShape(
    s[0],
    spatialOutputs(sizes, f.slice(0, 2), spatial),
    known === null || f[3] === null ? null : known * f[3],
    first,
  );
}

/** Convolution of each channel. */
export const DepthwiseConv2dNative: OpDef = defineOp({
  name: "DepthwiseConv2dNative",
  inputs: ["input: T", "filter: T"],
  outputs: ["output: T"],
  attrs: ATTRS,
  kind: "anchor",
  infer: ([x, filter], attrs) => [depthwiseShape("DepthwiseConv2dNative", x, filter, attrs)],
  grad: {
    saves: ["input", "filter"],
    vjp: ({ input, filter }, [dy], { attrs, needs, shapeOf }) => [
      needs[0] ? inputGradient(shapeOf(0), filter, dy, attrs) : null,
      needs[1] ? filterGradient(input, shapeOf(1), dy, attrs) : null,
    ],
  },
  cpu: ([x, filter], [out], { attrs }) =>
    runConv(
      depthwiseForward,
      windowGeometry(x.shape, filter.shape, filter.shape[2] * filter.shape[3], attrs),
      x,
      filter,
      out,
    ),
  gpu: DEPTHWISE_VARIANTS,
});

const BackpropInput = defineOp({
  name: "DepthwiseConv2dNativeBackpropInput",
  inputs: ["input_sizes: int32", "filter: T", "out_backprop: T"],
  outputs: ["output: T"],
  attrs: ATTRS,
  hostInputs: ["input_sizes"],
  kind: "anchor",
  infer: ([sizes, filter, dy], attrs) => {
    if (sizes.value === undefined) return [[null, null, null, null]];
    const shape = hostInts(sizes.value);
    const op = "DepthwiseConv2dNativeBackpropInput";
    checkGradient(op, depthwiseShape(op, { dtype: dy.dtype, shape }, filter, attrs), dy.shape);
    return [shape];
  },
  grad: {
    saves: ["filter", "out_backprop"],
    vjp: ({ filter, out_backprop }, [g], { attrs, needs, shapeOf }) => [
      null,
      needs[1] ? filterGradient(g, shapeOf(1), out_backprop, attrs) : null,
      needs[2] ? apply1(DepthwiseConv2dNative, [g, filter], convAttrs(attrs)) : null,
    ],
  },
  cpu: ([, filter, dy], [out], { attrs }) =>
    runConv(
      depthwiseBackwardInput,
      windowGeometry(out.shape, filter.shape, filter.shape[2] * filter.shape[3], attrs),
      dy,
      filter,
      out,
    ),
  gpu: DEPTHWISE_INPUT_VARIANTS,
});

const BackpropFilter = defineOp({
  name: "DepthwiseConv2dNativeBackpropFilter",
  inputs: ["input: T", "filter_sizes: int32", "out_backprop: T"],
  outputs: ["output: T"],
  attrs: ATTRS,
  hostInputs: ["filter_sizes"],
  kind: "anchor",
  infer: ([x, sizes, dy], attrs) => {
    if (sizes.value === undefined) return [[null, null, null, null]];
    const shape = hostInts(sizes.value);
    const op = "DepthwiseConv2dNativeBackpropFilter";
    checkGradient(op, depthwiseShape(op, x, { dtype: dy.dtype, shape }, attrs), dy.shape);
    return [shape];
  },
  grad: {
    saves: ["input", "out_backprop"],
    vjp: ({ input, out_backprop }, [g], { attrs, needs, shapeOf }) => [
      needs[0] ? inputGradient(shapeOf(0), g, out_backprop, attrs) : null,
      null,
      needs[2] ? apply1(DepthwiseConv2dNative, [input, g], convAttrs(attrs)) : null,
    ],
  },
  cpu: ([x, , dy], [out], { attrs }) =>
    runConv(
      depthwiseBackwardFilter,
      windowGeometry(x.shape, out.shape, out.shape[2] * out.shape[3], attrs),
      x,
      dy,
      out,
    ),
  gpu: DEPTHWISE_FILTER_VARIANTS,
});

function inputGradient(sizes: TensorLike, filter: OpInput, dy: OpInput, attrs: Attrs): Tensor {
  const shape = toIndexInput(sizes, "inputSizes", "depthwiseConv2d");
  return apply1(BackpropInput, [shape, filter, dy], convAttrs(attrs));
}

function filterGradient(x: OpInput, sizes: TensorLike, dy: OpInput, attrs: Attrs): Tensor {
  const shape = toIndexInput(sizes, "filterSizes", "depthwiseConv2d");
  return apply1(BackpropFilter, [x, shape, dy], convAttrs(attrs));
}

/**
 * Convolution of each channel with its own filters: `x` is `[batch, height, width, channels]` (or without batch), `filter`
 * `[height, width, channels, multiplier]`, the result has `channels * multiplier` channels.
 * TensorFlow op `DepthwiseConv2dNative`. Throws `ValueError` where shapes do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const x = tf.tensor([1, 2, 3, 4], [1, 2, 2]);
 * const filter = tf.tensor([1, 10, 100, 1000], [1, 2, 2, 1]);
 * assertEquals(tf.depthwiseConv2d(x, filter, 1, "valid").arraySync(), [[[301, 4020]]]);
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
  const { x: input, restore } = withBatch(x, 4, "depthwiseConv2d");
  const kernel = toFilter(filter, 4, "depthwiseConv2d");
  checkSame(
    extentOf(input, dataFormat === "NHWC" ? 3 : 1),
    extentOf(kernel, 2),
    "Error in depthwiseConv2d: number of input channels must match the inChannels dimension of filter",
  );
  const attrs = windowAttrs({
    fn: "depthwiseConv2d",
    input: shapeOfInput(input),
    window: [extentOf(kernel, 0), extentOf(kernel, 1)],
    strides,
    pad,
    dataFormat,
    dilations,
    dimRoundingMode,
  });
  return restore(apply1(DepthwiseConv2dNative, [input, kernel], attrs as unknown as Attrs));
}

/**
 * Depthwise convolution followed by a 1×1 convolution: `pointwiseFilter` is `[1, 1, channels * multiplier, outChannels]`.
 * Follows TensorFlow `separable_conv2d`. Throws `ValueError` where shapes do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const x = tf.tensor([1, 2, 3, 4], [2, 2, 1]);
 * const depthwise = tf.tensor([1, 1, 1, 1], [2, 2, 1, 1]);
 * const pointwise = tf.tensor([1, -1], [1, 1, 1, 2]);
 * assertEquals(tf.separableConv2d(x, depthwise, pointwise, 1, "valid").arraySync(), [[[10, -10]]]);
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
  const { x: image, restore } = withBatch(x, 4, "separableConv2d");
  const depthwise = toFilter(depthwiseFilter, 4, "separableConv2d", "depthwiseFilter");
  const pointwise = toFilter(pointwiseFilter, 4, "separableConv2d", "pointwiseFilter");
  for (const axis of [0, 1]) {
    checkSame(
      extentOf(pointwise, axis),
      1,
      "Error in separableConv2d: pointwise filter must be 1×1",
    );
  }
  const channels = extentOf(depthwise, 2), m = extentOf(depthwise, 3);
  checkSame(
    extentOf(pointwise, 2),
    channels === null || m === null ? null : channels * m,
    "Error in separableConv2d: third dimension of pointwise filter must match the output channels of the depthwise one",
  );
  const middle = depthwiseConv2d(image, depthwise, strides, pad, dataFormat, dilation);
  return restore(conv2d(middle, pointwise, 1, "valid", dataFormat));
}
