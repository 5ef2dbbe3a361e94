/** NumPy's order statistics and running sums that pass over NaN. */
import { wantBoolean } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { reshape } from "../array/view.ts";
import { argMax, argMin } from "../reduce/arg_reduce.ts";
import { cumprod, cumsum } from "../reduce/scan.ts";
import { axisOf } from "./inputs.ts";
import { counted } from "./nan.ts";
import { checkQuantile, type QuantileOptions, quantiles } from "./statistics.ts";

const checks = {
  nanquantile: checkQuantile("nanquantile"),
  nanpercentile: checkQuantile("nanpercentile"),
};

/**
 * The quantiles of the elements that are numbers; NaN where none is. Else as `quantile`. Follows `numpy.nanquantile`. Throws `ValueError` for an axis
 * out of range, an unknown rank and another method, `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.nanquantile([3, NaN, 1, 2], [0, 0.5]).arraySync()); // [1, 2]
 * ```
 */
export function nanquantile(x: TensorLike, q: TensorLike, options: QuantileOptions = {}): Tensor {
  checks.nanquantile(options);
  return compose(() => quantiles(x, q, { fn: "nanquantile", whole: 1, skips: true, ...options }));
}

/**
 * {@linkcode nanquantile} of parts in percent. Follows `numpy.nanpercentile`. Throws as it does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.nanpercentile([3, NaN, 1], 100).item()); // 3
 * ```
 */
export function nanpercentile(x: TensorLike, q: TensorLike, options: QuantileOptions = {}): Tensor {
  checks.nanpercentile(options);
  const order = { fn: "nanpercentile", whole: 100, skips: true, ...options };
  return compose(() => quantiles(x, q, order));
}

/**
 * The middle element in order of those that are numbers, along an axis or of all; NaN where none is. Integers become float32. Follows `numpy.nanmedian`. Throws as
 * {@linkcode nanquantile}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.nanmedian([[3, NaN, 7], [2, 5, 4]], 1).arraySync()); // [5, 4]
 * ```
 */
export function nanmedian(x: TensorLike, axis?: number, keepDims = false): Tensor {
  wantBoolean(keepDims, "keepDims", "nanmedian");
  const order = { fn: "nanmedian", whole: 1, skips: true, axis, keepDims };
  return compose(() => quantiles(x, 0.5, order));
}

/**
 * The place of the greatest element that is a number, along an axis or among all; int32, 0 where none is. Follows `numpy.nanargmax`. Throws `ValueError` for an axis out of
 * range and an unknown rank.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.nanargmax([[1, NaN, 5], [NaN, 3, 2]], 1).arraySync()); // [2, 1]
 * ```
 */
export function nanargmax(x: TensorLike, axis?: number): Tensor {
  return compose(() => placeOf(x, "nanargmax", axis));
}

/**
 * The place of the least element that is a number, along an axis or among all; int32, 0 where none is. Follows `numpy.nanargmin`. Throws as {@linkcode nanargmax}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.nanargmin([NaN, 4, 1]).item()); // 2
 * ```
 */
export function nanargmin(x: TensorLike, axis?: number): Tensor {
  return compose(() => placeOf(x, "nanargmin", axis));
}

function placeOf(x: TensorLike, fn: "nanargmax" | "nanargmin", axis: number | undefined): Tensor {
  const isMax = fn === "nanargmax", { filled } = counted(x, fn, isMax ? -Infinity : Infinity);
  const find = isMax ? argMax : argMin;
  if (axis === undefined) return find(reshape(filled, [-1]), 0);
  return find(filled, axisOf(filled, axis, { arg: "x", fn }).at);
}

/**
 * Running sums along an axis, or of all elements as a vector, NaN counted as 0. Follows `numpy.nancumsum`. Throws `ValueError` for an axis out of range and an
 * unknown rank.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.nancumsum([1, NaN, 2]).arraySync()); // [1, 1, 3]
 * ```
 */
export function nancumsum(x: TensorLike, axis?: number): Tensor {
  return compose(() => running(counted(x, "nancumsum", 0).filled, "nancumsum", axis));
}

/**
 * Running products along an axis, or of all elements as a vector, NaN counted as 1. Follows `numpy.nancumprod`. Throws as {@linkcode nancumsum}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.nancumprod([2, NaN, 3]).arraySync()); // [2, 2, 6]
 * ```
 */
export function nancumprod(x: TensorLike, axis?: number): Tensor {
  return compose(() => running(counted(x, "nancumprod", 1).filled, "nancumprod", axis));
}

function running(x: Tensor, fn: "nancumsum" | "nancumprod", axis: number | undefined): Tensor {
  const scan = fn === "nancumsum" ? cumsum : cumprod;
  if (axis === undefined) return scan(reshape(x, [-1]), 0);
  return scan(x, axisOf(x, axis, { arg: "x", fn }).at);
}
