/** Windows of the namespace `tf.nn`: pools and convolutions over one axis, with gaps, and erosion. */
import { wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { concat } from "../array/join.ts";
import { reverse } from "../array/move.ts";
import { slice } from "../array/slice.ts";
import { expandDims, squeeze } from "../array/view.ts";
import { conv2dTranspose, dilatedConv2dTranspose } from "../conv/conv.ts";
import {
  type Padding,
  type PerAxis,
  type RoundingMode,
  toFilter,
  withBatch,
} from "../conv/conv_arguments.ts";
import { dilation2d } from "../conv/dilation.ts";
import { avgPool, maxPool } from "../conv/pool_functions.ts";
import { asTensor, intVector, shapeOfInput, toIndexInput } from "../input.ts";
import { neg } from "../pointwise/arithmetic.ts";

/** Returns padding over two axes, of which the first has none. */
function behindAxis(pad: Padding, fn: string): Padding {
  if (typeof pad === "string") return pad;
  if (typeof pad === "number") return [[0, 0], [pad, pad]];
  if (pad?.length === 1) return [[0, 0], pad[0]];
  if (pad?.length === 3) return [[0, 0], pad[1]];
  throw new ValueError(
    `Error in ${fn}: pad must hold [before, after] for the axis, received ${JSON.stringify(pad)}`,
  );
}

type Pool = typeof maxPool;

function poolOfAxis(pool: Pool, fn: string, [x, filterSize, stride, pad, mode]: PoolArguments) {
  return compose(() => {
    wantNumber(filterSize, "filterSize", fn);
    wantNumber(stride, "stride", fn);
    const { x: input, restore } = withBatch(x, 3, fn);
    const wide = expandDims(asTensor(input), 1);
    const y = pool(wide, [1, filterSize], [1, stride], behindAxis(pad, fn), mode);
    return restore(squeeze(y, [1]));
  });
}

type PoolArguments = readonly [TensorLike, number, number, Padding, RoundingMode | undefined];

/**
 * Greatest element of each window, over `[batch, width, channels]` (or without batch). A `MaxPool`. Throws `ValueError` for another
 * rank and a window that does not fit. Follows TensorFlow `tf.nn.max_pool1d`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.maxPool1d([[1], [3], [2], [0]], 2, 2, "valid").arraySync()); // [[3], [2]]
 * ```
 */
export function maxPool1d(
  x: TensorLike,
  filterSize: number,
  stride: number,
  pad: Padding,
  dimRoundingMode?: RoundingMode,
): Tensor {
  return poolOfAxis(maxPool, "maxPool1d", [x, filterSize, stride, pad, dimRoundingMode]);
}

/**
 * Mean of each window, over `[batch, width, channels]` (or without batch); padding does not count. An `AvgPool`. Throws `ValueError`
 * for another rank and a window that does not fit. Follows TensorFlow `tf.nn.avg_pool1d`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.avgPool1d([[1], [3], [2], [0]], 2, 2, "valid").arraySync()); // [[2], [1]]
 * ```
 */
export function avgPool1d(
  x: TensorLike,
  filterSize: number,
  stride: number,
  pad: Padding,
  dimRoundingMode?: RoundingMode,
): Tensor {
  return poolOfAxis(avgPool, "avgPool1d", [x, filterSize, stride, pad, dimRoundingMode]);
}

/**
 * Transposed convolution over one axis: the gradient of `conv1d` with respect to its input. `x` is `[batch, width, inChannels]` (or
 * without batch), `filter` `[width, outChannels, inChannels]`, `outputShape` the shape of the result. A `Conv2DBackpropInput`. Throws
 * `ValueError` where shapes do not fit. Follows TensorFlow `tf.nn.conv1d_transpose`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const filter = tf.tensor([1, 2], [2, 1, 1]);
 * console.log(tf.nn.conv1dTranspose([[3], [5]], filter, [4, 1], 2, "valid").arraySync()); // [[3], [6], [5], [10]]
 * ```
 */
export function conv1dTranspose(
  x: TensorLike,
  filter: TensorLike,
  outputShape: readonly number[] | Tensor,
  stride: number,
  pad: Padding,
): Tensor {
  return compose(() => {
    const fn = "conv1dTranspose";
    wantNumber(stride, "stride", fn);
    const { x: input, restore } = withBatch(x, 3, fn), kernel = toFilter(filter, 3, fn);
    const dims = toIndexInput(outputShape, "outputShape", fn), entries = shapeOfInput(dims);
    const isWhole = shapeOfInput(asTensor(input)) !== null && Array.isArray(outputShape);
    if (entries !== null && entries[0] !== 3 && !(isWhole && outputShape.length === 2)) {
      throw new ValueError(
        `Error in ${fn}: outputShape must have 2 or 3 entries, received ${entries[0]}`,
      );
    }
    const shape = Array.isArray(outputShape)
      ? [...outputShape.slice(0, -2), 1, ...outputShape.slice(-2)]
      : concat([slice(dims as Tensor, [0], [1]), intVector([1]), slice(dims as Tensor, [1], [2])]);
    const y = conv2dTranspose(
      expandDims(asTensor(input), 1),
      expandDims(asTensor(kernel), 0),
      shape,
      [1, stride],
      behindAxis(pad, fn),
    );
    return restore(squeeze(y, [1]));
  });
}

/**
 * Transposed convolution whose filter has gaps: `rate - 1` zeros between neighbouring taps. `x` is `[batch, height, width, inChannels]`
 * (or without batch), `filter` `[height, width, outChannels, inChannels]`, `outputShape` the shape of the result. A
 * `Conv2DBackpropInput`. Throws `ValueError` where shapes do not fit. Follows TensorFlow `tf.nn.atrous_conv2d_transpose`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const filter = tf.tensor([1, 2, 3, 4], [2, 2, 1, 1]);
 * const y = tf.nn.atrousConv2dTranspose([[[1]]], filter, [3, 3, 1], 2, "valid");
 * console.log(y.flatten().arraySync()); // [1, 0, 2, 0, 0, 0, 3, 0, 4]
 * ```
 */
export function atrousConv2dTranspose(
  x: TensorLike,
  filter: TensorLike,
  outputShape: readonly number[] | Tensor,
  rate: PerAxis,
  pad: Padding,
): Tensor {
  return dilatedConv2dTranspose(x, filter, outputShape, pad, rate);
}

/**
 * Returns the least difference of an element and the filter's tap over it, the filter being turned by 180 degrees: `x` is `[batch,
 * height, width, channels]` (or without batch), `filter` `[height, width, channels]`. A `Dilation2D` of the negated. Throws
 * `ValueError` where shapes do not fit. Follows TensorFlow `tf.nn.erosion2d`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 2, 3, 4], [2, 2, 1]);
 * console.log(tf.nn.erosion2d(x, tf.tensor([5, 0, 0, 0], [2, 2, 1]), 1, "valid").arraySync()); // [[[-1]]]
 * ```
 */
export function erosion2d(
  x: TensorLike,
  filter: TensorLike,
  strides: PerAxis,
  pad: Padding,
  dilations: PerAxis = 1,
): Tensor {
  return compose(() => {
    const { x: input, restore } = withBatch(x, 4, "erosion2d");
    const kernel = asTensor(toFilter(filter, 3, "erosion2d"));
    const turned = reverse(kernel, [0, 1]);
    return restore(neg(dilation2d(neg(asTensor(input)), turned, strides, pad, dilations)));
  });
}
