/**
 * Convolutions over one and two axes, and their gradients, which are each other's.
 * May import core and kernels.
 */
import { apply1, type OpInput } from "../core/apply.ts";
import { type Attrs, defineOp, type OpDef } from "../core/op.ts";
import type { PartialShape } from "../core/shape.ts";
import { shapeText } from "../core/shape.ts";
import { type Spec, specText } from "../core/tensor_spec.ts";
import type { Tensor, TensorLike } from "../core/tensor.ts";
import { ValueError } from "../core/errors.ts";
import {
  convBackwardFilter,
  convBackwardInput,
  convForward,
  runConv,
} from "../kernels/conv_cpu.ts";
import {
  checkRank,
  isChannelsFirst,
  orderShape,
  spatialAttrs,
  spatialAxes,
  spatialOutputs,
  windowGeometry,
} from "../kernels/conv_geometry.ts";
import { CONV_FILTER_VARIANTS, CONV_INPUT_VARIANTS, CONV_VARIANTS } from "../kernels/conv_gpu.ts";
import { expandDims, hostInts, squeeze } from "./array_view.ts";
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
import { asTensor, intVector, shapeOfInput, toIndexInput } from "./input.ts";

/** Attributes shared by the two-dimensional ops. */
export const CONV_2D_ATTRS: readonly string[] = [
  "T: {float16, bfloat16, float32, float64, int32}",
  "strides: list(int)",
  "use_cudnn_on_gpu: bool = true",
  "padding: string",
  "explicit_paddings: list(int) = []",
  'data_format: string = "NHWC"',
  "dilations: list(int) = [1, 1, 1, 1]",
];

/** Shape of a convolution of any number of axes. Throws `ValueError` where shapes do not fit. */
export function convShape(
  op: string,
  x: Spec,
  filter: Spec,
  attrs: Attrs,
  rank: number,
): PartialShape {
  checkRank(x.shape, rank, op, "input");
  checkRank(filter.shape, rank, op, "filter");
  const first = isChannelsFirst(attrs);
  const spatial = spatialAttrs(attrs, rank);
  const s = x.shape ?? new Array<null>(rank).fill(null),
    f = filter.shape ?? new Array<null>(rank).fill(null);
  const channels = s[first ? 1 : rank - 1], wanted = f[rank - 2];
  if (channels !== null && wanted !== null && channels !== wanted) {
    throw new ValueError(
      `Cannot convolve ${specText(x)} with ${
        specText(filter)
      } in ${op}: depth of input (${channels}) must match input depth for filter ${wanted}`,
    );
  }
  const sizes = spatialAxes(rank, first).map((a) => s[a]);
  return orderShape(s[0], spatialOutputs(sizes, f.slice(0, rank - 2), spatial), f[rank - 1], first);
}

/** Checks that a gradient has the shape of the convolution's result. Throws `ValueError` where it has not. */
export function checkGradient(op: string, want: PartialShape, dy: PartialShape): void {
  if (want === null || dy === null) return;
  if (
    want.length !== dy.length || want.some((d, i) => d !== null && dy[i] !== null && d !== dy[i])
  ) {
    throw new ValueError(
      `Cannot compute ${op}: out_backprop must have shape ${shapeText(want)}, received ${
        shapeText(dy)
      }`,
    );
  }
}

/** Convolution over two axes. */
export const Conv2D: OpDef = defineOp({
  name: "Conv2D",
  inputs: ["input: T", "filter: T"],
  outputs: ["output: T"],
  attrs: CONV_2D_ATTRS,
  kind: "anchor",
  infer: ([x, filter], attrs) => [convShape("Conv2D", x, filter, attrs, 4)],
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
      windowGeometry(x.shape, filter.shape, filter.shape[3], attrs),
      x,
      filter,
      out,
    ),
  gpu: CONV_VARIANTS,
});

const Conv2DBackpropInput = defineOp({
  name: "Conv2DBackpropInput",
  inputs: ["input_sizes: Tsizes", "filter: T", "out_backprop: T"],
  outputs: ["output: T"],
  attrs: [...CONV_2D_ATTRS, "Tsizes: index = int32"],
  hostInputs: ["input_sizes"],
  kind: "anchor",
  infer: ([sizes, filter, dy], attrs) => {
    checkRank(filter.shape, 4, "Conv2DBackpropInput", "filter");
    checkRank(dy.shape, 4, "Conv2DBackpropInput", "out_backprop");
    if (sizes.value === undefined) return [[null, null, null, null]];
    const shape = hostInts(sizes.value);
    checkGradient(
      "Conv2DBackpropInput",
      convShape("Conv2DBackpropInput", { dtype: dy.dtype, shape }, filter, attrs, 4),
      dy.shape,
    );
    return [shape];
  },
  grad: {
    saves: ["filter", "out_backprop"],
    vjp: ({ filter, out_backprop }, [g], { attrs, needs, shapeOf }) => [
      null,
      needs[1] ? filterGradient(g, shapeOf(1), out_backprop, attrs) : null,
      needs[2] ? apply1(Conv2D, [g, filter], convAttrs(attrs)) : null,
    ],
  },
  cpu: ([, filter, dy], [out], { attrs }) =>
    runConv(
      convBackwardInput,
      windowGeometry(out.shape, filter.shape, filter.shape[3], attrs),
      dy,
      filter,
      out,
    ),
  gpu: CONV_INPUT_VARIANTS,
});

const Conv2DBackpropFilter = defineOp({
  name: "Conv2DBackpropFilter",
  inputs: ["input: T", "filter_sizes: Tsizes", "out_backprop: T"],
  outputs: ["output: T"],
  attrs: [...CONV_2D_ATTRS, "Tsizes: index = int32"],
  hostInputs: ["filter_sizes"],
  kind: "anchor",
  infer: ([x, sizes, dy], attrs) => {
    checkRank(x.shape, 4, "Conv2DBackpropFilter", "input");
    checkRank(dy.shape, 4, "Conv2DBackpropFilter", "out_backprop");
    if (sizes.value === undefined) return [[null, null, null, null]];
    const shape = hostInts(sizes.value);
    checkGradient(
      "Conv2DBackpropFilter",
      convShape("Conv2DBackpropFilter", x, { dtype: dy.dtype, shape }, attrs, 4),
      dy.shape,
    );
    return [shape];
  },
  grad: {
    saves: ["input", "out_backprop"],
    vjp: ({ input, out_backprop }, [g], { attrs, needs, shapeOf }) => [
      needs[0] ? inputGradient(shapeOf(0), g, out_backprop, attrs) : null,
      null,
      needs[2] ? apply1(Conv2D, [input, g], convAttrs(attrs)) : null,
    ],
  },
  cpu: ([x, , dy], [out], { attrs }) =>
    runConv(
      convBackwardFilter,
      windowGeometry(x.shape, out.shape, out.shape[3], attrs),
      x,
      dy,
      out,
    ),
  gpu: CONV_FILTER_VARIANTS,
});

/** The attributes that a convolution and its gradients share. */
export function convAttrs(attrs: Attrs): Attrs {
  const { strides, padding, explicit_paddings, data_format, dilations } = attrs;
  return { strides, padding, explicit_paddings, data_format, dilations };
}

function inputGradient(sizes: TensorLike, filter: OpInput, dy: OpInput, attrs: Attrs): Tensor {
  return apply1(
    Conv2DBackpropInput,
    [toIndexInput(sizes, "inputSizes", "conv2d"), filter, dy],
    convAttrs(attrs),
  );
}

function filterGradient(x: OpInput, sizes: TensorLike, dy: OpInput, attrs: Attrs): Tensor {
  return apply1(
    Conv2DBackpropFilter,
    [x, toIndexInput(sizes, "filterSizes", "conv2d"), dy],
    convAttrs(attrs),
  );
}

/**
 * Convolution over two axes: `x` is `[batch, height, width, inChannels]` (or without batch), `filter`
 * `[height, width, inChannels, outChannels]`. `pad` is `"valid"`, `"same"`, a number or `[before, after]` per axis.
 * TensorFlow op `Conv2D`. Throws `ValueError` where shapes do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const x = tf.tensor([1, 2, 3, 4], [2, 2, 1]);
 * const filter = tf.tensor([1, 1, 1, 1], [2, 2, 1, 1]);
 * assertEquals(tf.conv2d(x, filter, 1, "valid").arraySync(), [[[10]]]);
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
  const { x: input, restore } = withBatch(x, 4, "conv2d");
  const kernel = toFilter(filter, 4, "conv2d");
  const attrs = windowAttrs({
    fn: "conv2d",
    input: shapeOfInput(input),
    window: [extentOf(kernel, 0), extentOf(kernel, 1)],
    strides,
    pad,
    dataFormat,
    dilations,
    dimRoundingMode,
  });
  checkSame(
    extentOf(input, dataFormat === "NHWC" ? 3 : 1),
    extentOf(kernel, 2),
    "Error in conv2d: depth of input must match input depth for filter",
  );
  return restore(apply1(Conv2D, [input, kernel], attrs as unknown as Attrs));
}

/**
 * Convolution over one axis: `x` is `[batch, width, inChannels]` (or without batch), `filter` `[width, inChannels,
 * outChannels]`. A `Conv2D`. Throws `ValueError` where shapes do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const x = tf.tensor([1, 2, 3], [3, 1]);
 * assertEquals(tf.conv1d(x, tf.tensor([1, 1], [2, 1, 1]), 1, "valid").arraySync(), [[3], [5]]);
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
}

/**
 * Transposed convolution: the gradient of {@linkcode conv2d} with respect to its input. `x` is `[batch, height, width,
 * inChannels]` (or without batch), `filter` `[height, width, outChannels, inChannels]`, `outputShape` the shape of the result.
 * TensorFlow op `Conv2DBackpropInput`. Throws `ValueError` where shapes do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const y = tf.conv2dTranspose(tf.tensor([2], [1, 1, 1]), tf.tensor([1, 2, 3, 4], [2, 2, 1, 1]), [2, 2, 1], 1, "valid");
 * assertEquals(y.flatten().arraySync(), [2, 4, 6, 8]);
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
  const { x: input, restore } = withBatch(x, 4, "conv2dTranspose");
  const kernel = toFilter(filter, 4, "conv2dTranspose");
  checkSame(
    extentOf(input, 3),
    extentOf(kernel, 3),
    "Error in conv2dTranspose: depth of input must match that of filter",
  );
  const list = Array.isArray(outputShape) ? outputShape as readonly number[] : null;
  const full = list !== null && list.length === 3 ? [extentOf(input, 0) ?? 1, ...list] : list;
  if (full !== null) {
    if (full.length !== 4) {
      throw new ValueError(
        `Error in conv2dTranspose: outputShape must have 3 or 4 entries, received ${
          shapeText(full)
        }`,
      );
    }
    checkSame(
      full[3],
      extentOf(kernel, 2),
      "Error in conv2dTranspose: depth of outputShape must match that of filter",
    );
  }
  const attrs = windowAttrs({
    fn: "conv2dTranspose",
    input: full,
    window: [extentOf(kernel, 0), extentOf(kernel, 1)],
    strides,
    pad,
    dataFormat: "NHWC",
    dimRoundingMode,
  });
  const sizes = full === null
    ? toIndexInput(outputShape, "outputShape", "conv2dTranspose")
    : intVector(full);
  return restore(apply1(Conv2DBackpropInput, [sizes, kernel, input], attrs as unknown as Attrs));
}
