/** Pooling functions: maxPool, avgPool, their three-dimensional forms, maxPoolWithArgmax, pool. */
import type { OpInput } from "../../core/apply.ts";
import type { Attrs } from "../../core/op.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import {
  alike,
  attrsByKey,
  inBatch,
  type Padding,
  type PerAxis,
  perAxis,
  type RoundingMode,
  type Sliding,
  windowAttrs,
  windowKey,
} from "./conv_arguments.ts";
import { shapeOfInput, toInput } from "../input.ts";
import { applyArgMaxPool, applyPool } from "./pool.ts";
import { brief } from "../../core/text.ts";

interface PoolArguments extends Omit<Sliding, "dataFormat"> {
  readonly fn: string;
  readonly axes: 2 | 3;
  readonly filterSize: PerAxis;
  readonly dataFormat?: string;
}

const attrsOfPools = attrsByKey();

function poolAttrs(input: OpInput, given: PoolArguments): Attrs {
  const { axes, filterSize, dataFormat = axes === 2 ? "NHWC" : "NDHWC" } = given;
  const args = { ...given, dataFormat };
  const size = alike(filterSize, axes), key = windowKey(args, axes);
  const make = () => convert(input, args);
  return size === null || key === null ? make() : attrsOfPools(`${size} ${key}`, make);
}

function convert(input: OpInput, args: PoolArguments & Sliding): Attrs {
  const { fn, axes, filterSize, dataFormat } = args;
  const window = perAxis(filterSize, axes, fn, "filterSize");
  const attrs = windowAttrs({ ...args, input: shapeOfInput(input), window });
  const ksize = dataFormat[1] === "C" ? [1, 1, ...window] : [1, ...window, 1];
  const dilated = attrs.dilations.some((d) => d !== 1);
  return { ...attrs, ksize, dilations: dilated ? attrs.dilations : [] };
}

function pooled(type: "max" | "avg", x: TensorLike, args: PoolArguments): Tensor {
  const { axes, fn } = args;
  return inBatch(x, axes + 2, fn, (input) => applyPool(type, axes, input, poolAttrs(input, args)));
}

/**
 * Greatest element of each window, over `[batch, height, width, channels]` (or without batch). NaN does not count.
 * TensorFlow op `MaxPool`. Throws `ValueError` for another rank and a window that does not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 2, 3, 4], [2, 2, 1]);
 * console.log(tf.maxPool(x, 2, 1, "valid").arraySync()); // [[[4]]]
 * ```
 */
export function maxPool(
  x: TensorLike,
  filterSize: PerAxis,
  strides: PerAxis,
  pad: Padding,
  dimRoundingMode?: RoundingMode,
): Tensor {
  return pooled("max", x, { fn: "maxPool", axes: 2, filterSize, strides, pad, dimRoundingMode });
}

/**
 * Mean of each window, over `[batch, height, width, channels]` (or without batch); padding does not count.
 * TensorFlow op `AvgPool`. Throws `ValueError` for another rank and a window that does not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 2, 3, 4], [2, 2, 1]);
 * console.log(tf.avgPool(x, 2, 1, "valid").arraySync()); // [[[2.5]]]
 * ```
 */
export function avgPool(
  x: TensorLike,
  filterSize: PerAxis,
  strides: PerAxis,
  pad: Padding,
  dimRoundingMode?: RoundingMode,
): Tensor {
  return pooled("avg", x, { fn: "avgPool", axes: 2, filterSize, strides, pad, dimRoundingMode });
}

/**
 * Greatest element of each window, over `[batch, depth, height, width, channels]` (or without batch).
 * TensorFlow op `MaxPool3D`. Throws `ValueError` for another rank and a window that does not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 2, 3, 4, 5, 6, 7, 8], [2, 2, 2, 1]);
 * console.log(tf.maxPool3d(x, 2, 1, "valid").arraySync()); // [[[[8]]]]
 * ```
 */
export function maxPool3d(
  x: TensorLike,
  filterSize: PerAxis,
  strides: PerAxis,
  pad: Padding,
  dimRoundingMode?: RoundingMode,
  dataFormat: "NDHWC" | "NCDHW" = "NDHWC",
): Tensor {
  const args = { filterSize, strides, pad, dimRoundingMode, dataFormat };
  return pooled("max", x, { fn: "maxPool3d", axes: 3, ...args });
}

/**
 * Mean of each window, over `[batch, depth, height, width, channels]` (or without batch).
 * TensorFlow op `AvgPool3D`. Throws `ValueError` for another rank and a window that does not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 2, 3, 4, 5, 6, 7, 8], [2, 2, 2, 1]);
 * console.log(tf.avgPool3d(x, 2, 1, "valid").arraySync()); // [[[[4.5]]]]
 * ```
 */
export function avgPool3d(
  x: TensorLike,
  filterSize: PerAxis,
  strides: PerAxis,
  pad: Padding,
  dimRoundingMode?: RoundingMode,
  dataFormat: "NDHWC" | "NCDHW" = "NDHWC",
): Tensor {
  const args = { filterSize, strides, pad, dimRoundingMode, dataFormat };
  return pooled("avg", x, { fn: "avgPool3d", axes: 3, ...args });
}

/** The result of {@linkcode maxPoolWithArgmax}. */
export interface PooledWithArgmax {
  /** Greatest elements. */
  readonly result: Tensor;
  /** Their positions, int32: `(y * width + x) * channels + channel`. */
  readonly indexes: Tensor;
}

/**
 * Greatest element of each window and its flat position in the image, or in the whole batch with `includeBatchInIndex`.
 * TensorFlow op `MaxPoolWithArgmax`. Throws `ValueError` for a rank other than 4.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 4, 3, 2], [1, 2, 2, 1]);
 * const { result, indexes } = tf.maxPoolWithArgmax(x, 2, 2, "valid");
 * console.log([result.item(), indexes.item()]); // [4, 1]
 * ```
 */
export function maxPoolWithArgmax(
  x: TensorLike,
  filterSize: PerAxis,
  strides: PerAxis,
  pad: Padding,
  includeBatchInIndex = false,
): PooledWithArgmax {
  const input = toInput(x, "x", "maxPoolWithArgmax");
  const rank = shapeOfInput(input)?.length ?? 4;
  if (rank !== 4) {
    throw new ValueError(`Error in maxPoolWithArgmax: x must be rank 4, received rank ${rank}`);
  }
  const args = { fn: "maxPoolWithArgmax", axes: 2, filterSize, strides, pad } as const;
  const { data_format: _format, dilations: _dilations, ...attrs } = poolAttrs(input, args);
  const [result, indexes] = applyArgMaxPool(input, {
    ...attrs,
    include_batch_in_index: includeBatchInIndex,
    Targmax: "int32",
  });
  return { result, indexes };
}

/**
 * Pooling of either kind, with gaps between the taps where `dilations` are given.
 * Follows TensorFlow `nn.pool`; ops `MaxPool` and `AvgPool`. Throws `ValueError` for what does not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 2, 3, 4, 5, 6, 7, 8, 9], [3, 3, 1]);
 * console.log(tf.pool(x, 2, "avg", "valid", 2).arraySync()); // [[[5]]]
 * ```
 */
export function pool(
  input: TensorLike,
  windowShape: PerAxis,
  poolingType: "avg" | "max",
  pad: Padding,
  dilations?: PerAxis,
  strides: PerAxis = 1,
  dimRoundingMode?: RoundingMode,
): Tensor {
  if (poolingType !== "avg" && poolingType !== "max") {
    throw new ValueError(
      `Error in pool: unknown poolingType ${brief(poolingType)}, wanted avg or max`,
    );
  }
  const args = { filterSize: windowShape, strides, pad, dilations, dimRoundingMode };
  return pooled(poolingType, input, { fn: "pool", axes: 2, ...args });
}
