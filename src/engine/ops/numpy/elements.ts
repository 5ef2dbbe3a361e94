/** NumPy's functions of elements that stand nowhere else: logarithms, lengths, steps, membership, weighted means. */
import { optionCheck, wantBoolean } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { broadcastTo } from "../array/repeat.ts";
import { expandDims, reshape, shape } from "../array/view.ts";
import { asTensor, toMatchingInputs } from "../input.ts";
import { add, div, mul, sub, toNumberInput } from "../pointwise/arithmetic.ts";
import { equal, isInf, isNaN, less } from "../pointwise/compare.ts";
import { log } from "../pointwise/exponential.ts";
import { logicalNot, logicalOr } from "../pointwise/logical.ts";
import { pow, sqrt, square } from "../pointwise/power.ts";
import { abs } from "../pointwise/rounding.ts";
import { maximum, minimum, where } from "../pointwise/select.ts";
import { sin } from "../pointwise/trigonometric.ts";
import { any, type Axes, max, mean, min, sum } from "../reduce/reduce.ts";
import { axisOf, isInexact, realInput } from "./inputs.ts";

function reals(a: TensorLike, b: TensorLike, fn: string): [Tensor, Tensor] {
  const [p, q] = toMatchingInputs(a, b, fn);
  return [realInput(p as TensorLike, "a", fn), realInput(q as TensorLike, "b", fn)];
}

/**
 * The logarithm to base 2. Integers become float32. Follows `numpy.log2`, in TensorFlow `tf.experimental.numpy.log2`. Throws `TypeError` for values that are no real
 * numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.round(tf.experimental.numpy.log2([1, 2, 8])).arraySync()); // [0, 1, 3]
 * ```
 */
export function log2(x: TensorLike): Tensor {
  return compose(() => mul(log(realInput(x, "x", "log2")), Math.LOG2E));
}

/**
 * The logarithm to base 10. Integers become float32. Follows `numpy.log10`, in TensorFlow `tf.experimental.numpy.log10`. Throws as {@linkcode log2}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.round(tf.experimental.numpy.log10([1, 10, 1000])).arraySync()); // [0, 1, 3]
 * ```
 */
export function log10(x: TensorLike): Tensor {
  return compose(() => mul(log(realInput(x, "x", "log10")), Math.LOG10E));
}

/**
 * Powers of 2. Integers become float32. Follows `numpy.exp2`, in TensorFlow `tf.experimental.numpy.exp2`. Throws as {@linkcode log2}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.exp2([0, 1, 3]).arraySync()); // [1, 2, 8]
 * ```
 */
export function exp2(x: TensorLike): Tensor {
  return compose(() => {
    const input = realInput(x, "x", "exp2");
    return pow(cast(2, input.dtype), input) as Tensor;
  });
}

/**
 * `sqrt(a * a + b * b)` without overflow, of the broadcast shape; infinite where a side is. Integers become float32. Follows `numpy.hypot`, in TensorFlow
 * `tf.experimental.numpy.hypot`. Throws `ValueError` for shapes that do not broadcast, `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.hypot([3, 5], [4, 12]).arraySync()); // [5, 13]
 * ```
 */
export function hypot(a: TensorLike, b: TensorLike): Tensor {
  return compose(() => {
    const [x, y] = reals(a, b, "hypot").map((t) => abs(t)), most = maximum(x, y);
    const isPlain = logicalNot(logicalOr(equal(most, 0), isInf(most)));
    const share = where(isPlain, div(minimum(x, y), where(isPlain, most, 1)), 0);
    const length = mul(most, sqrt(add(square(share), 1)));
    return where(logicalOr(isInf(x), isInf(y)), Infinity, length);
  });
}

/**
 * 0 where `x` is negative, `half` where it is 0, else 1; of the broadcast shape. Integers become float32. Follows `numpy.heaviside`, in TensorFlow
 * `tf.experimental.numpy.heaviside`. Throws as {@linkcode hypot}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.heaviside([-1.5, 0, 2], 0.5).arraySync()); // [0, 0.5, 1]
 * ```
 */
export function heaviside(x: TensorLike, half: TensorLike): Tensor {
  return compose(() => {
    const [at, middle] = reals(x, half, "heaviside"), zero = mul(middle, 0);
    const side = where(less(at, 0), 0, where(equal(at, 0), middle, 1));
    return where(isNaN(at), NaN, add(side, where(isNaN(zero), 0, zero)));
  });
}

/**
 * `sin(πx) / (πx)`, 1 at 0. Integers become float32. Follows `numpy.sinc`, in TensorFlow `tf.experimental.numpy.sinc`. Throws as {@linkcode log2}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.round(tf.mul(tf.experimental.numpy.sinc([0, 0.5]), 100)).arraySync()); // [100, 64]
 * ```
 */
export function sinc(x: TensorLike): Tensor {
  return compose(() => {
    const at = mul(realInput(x, "x", "sinc"), Math.PI), isZero = equal(at, 0);
    const safe = where(isZero, 1, at), square2 = square(at);
    // The series has the slopes of every order that matter at 0.
    const series = add(sub(1, div(square2, 6)), div(square(square2), 120));
    return where(isZero, series, div(sin(safe), safe));
  });
}

/**
 * Degrees as radians. Integers become float32. Follows `numpy.deg2rad`, in TensorFlow `tf.experimental.numpy.deg2rad`. Throws as {@linkcode log2}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.deg2rad(180).item()); // 3.1415927410125732
 * ```
 */
export function deg2rad(x: TensorLike): Tensor {
  return compose(() => mul(realInput(x, "x", "deg2rad"), Math.PI / 180));
}

/**
 * Radians as degrees. Integers become float32. Follows `numpy.rad2deg`, in TensorFlow `tf.experimental.numpy.rad2deg`. Throws as {@linkcode log2}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.rad2deg(Math.PI).item()); // 180
 * ```
 */
export function rad2deg(x: TensorLike): Tensor {
  return compose(() => mul(realInput(x, "x", "rad2deg"), 180 / Math.PI));
}

/**
 * The greater of two elements; the other where one is NaN. Of the broadcast shape. Follows `numpy.fmax`. Throws `ValueError` for shapes that do not broadcast, `TypeError`
 * for strings.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.fmax([1, NaN, 3], [2, 5, NaN]).arraySync()); // [2, 5, 3]
 * ```
 */
export function fmax(a: TensorLike, b: TensorLike): Tensor {
  return compose(() => ofNumbers(a, b, { fn: "fmax", pick: maximum }));
}

/**
 * The lesser of two elements; the other where one is NaN. Of the broadcast shape. Follows `numpy.fmin`. Throws as {@linkcode fmax}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.fmin([1, NaN, 3], [2, 5, NaN]).arraySync()); // [1, 5, 3]
 * ```
 */
export function fmin(a: TensorLike, b: TensorLike): Tensor {
  return compose(() => ofNumbers(a, b, { fn: "fmin", pick: minimum }));
}

interface Pick2 {
  readonly fn: "fmax" | "fmin";
  readonly pick: (a: Tensor, b: Tensor) => Tensor;
}

function ofNumbers(a: TensorLike, b: TensorLike, { fn, pick }: Pick2): Tensor {
  const [x, y] = toMatchingInputs(a, b, fn).map((v) =>
    asTensor(toNumberInput(v as TensorLike, fn))
  );
  if (!isInexact(x)) return pick(x, y);
  const [p, q] = [isNaN(x), isNaN(y)];
  return where(p, y, where(q, x, pick(where(p, y, x), where(q, x, y))));
}

/**
 * True for elements that are among those of `test`; bool, of the shape of `x`. With `invert` true for the others. Follows `numpy.isin`. Throws `TypeError` for dtypes that cannot be
 * compared.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.isin([1, 2, 3], [3, 1]).arraySync()); // [true, false, true]
 * ```
 */
export function isin(x: TensorLike, test: TensorLike, invert = false): Tensor {
  wantBoolean(invert, "invert", "isin");
  return compose(() => {
    const [elements, among] = toMatchingInputs(x, test, "isin").map(asTensor);
    const flat = reshape(elements, [-1]);
    const found = any(equal(expandDims(flat, 1), reshape(among, [-1])), 1);
    return reshape(invert ? logicalNot(found) : found, shape(elements));
  });
}

/** Options of `average`. */
export interface AverageOptions {
  /** The axis. Default: all elements. */
  readonly axis?: number;
  /** Weights of the elements: of the shape of `x`, or a vector along the axis. Default 1. */
  readonly weights?: TensorLike;
  /** Keep the axis, or all of them, with an extent of 1. */
  readonly keepDims?: boolean;
}

const checkAverage = optionCheck<AverageOptions>("average", {
  axis: true,
  weights: true,
  keepDims: true,
});

/**
 * The mean along an axis, or of all elements, in which each counts its weight. Integers become float32. Follows `numpy.average`, in TensorFlow `tf.experimental.numpy.average`. Throws `ValueError` for an axis
 * out of range, an unknown rank and weights that do not fit, `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.average([1, 2, 3], { weights: [1, 0, 3] }).item()); // 2.5
 * ```
 */
export function average(x: TensorLike, options: AverageOptions = {}): Tensor {
  checkAverage(options);
  const { axis, weights, keepDims = false } = options, fn = "average";
  return compose(() => {
    const input = realInput(x, "x", fn);
    const at = axis === undefined ? undefined : axisOf(input, axis, { arg: "x", fn }).at;
    if (weights === undefined) return mean(input, at, keepDims);
    const given = cast(realInput(weights, "weights", fn), input.dtype), has = given.staticShape;
    const rank = input.staticShape?.length;
    const isAlong = has?.length === 1 && at !== undefined && rank !== 1;
    if (!isAlong && rank !== undefined && has?.length !== rank) {
      throw new ValueError(
        `Cannot apply ${fn} to shape ${shapeText(input.staticShape)} with weights of shape ${
          shapeText(has)
        }: wanted the shape of x, or a vector along an axis`,
      );
    }
    const wide = isAlong
      ? broadcastTo(
        reshape(given, input.staticShape!.map((_, i) => (i === at ? -1 : 1))),
        shape(input),
      )
      : given;
    return div(sum(mul(input, wide), at, keepDims), sum(wide, at, keepDims));
  });
}

/**
 * The greatest element less the least, over axes or all. Follows `numpy.ptp`, in TensorFlow `tf.experimental.numpy.ptp`. Throws `ValueError` for an axis out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.ptp([[4, 9], [2, 3]], 1).arraySync()); // [5, 1]
 * ```
 */
export function ptp(x: TensorLike, axis?: Axes, keepDims = false): Tensor {
  return compose(() => {
    const input = asTensor(toNumberInput(x, "ptp"));
    return sub(max(input, axis, keepDims), min(input, axis, keepDims));
  });
}
