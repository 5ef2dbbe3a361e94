/** NumPy's functions that see to NaN: nearness, replacement, and reductions that pass over it. */
import { optionCheck, wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { DTYPES } from "../../core/dtype.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { asTensor, toInput, toMatchingInputs } from "../input.ts";
import { add, div, mul, sub, toNumberInput } from "../pointwise/arithmetic.ts";
import { equal, greater, isFinite, isNaN, less, lessEqual } from "../pointwise/compare.ts";
import { complex, imag, real } from "../pointwise/complex.ts";
import { logicalAnd, logicalNot, logicalOr } from "../pointwise/logical.ts";
import { sqrt, square } from "../pointwise/power.ts";
import { abs } from "../pointwise/rounding.ts";
import { where } from "../pointwise/select.ts";
import { all, type Axes, max, min, sum } from "../reduce/reduce.ts";
import { prod } from "../reduce/prod.ts";
import { isInexact, realInput } from "./inputs.ts";

/** Options of `isclose` and `allclose`. */
export interface CloseOptions {
  /** Greatest difference, as a part of the absolute value of `b`. Default 1e-5. */
  readonly rtol?: number;
  /** Greatest difference beyond that. Default 1e-8. */
  readonly atol?: number;
  /** True: NaN is close to NaN. Default false. */
  readonly equalNan?: boolean;
}

const CLOSE = { rtol: true, atol: true, equalNan: true } as const;
const checkClose = {
  isclose: optionCheck<CloseOptions>("isclose", CLOSE),
  allclose: optionCheck<CloseOptions>("allclose", CLOSE),
};

/**
 * True where `|a - b| <= atol + rtol * |b|`, and for equal infinities; bool, of the broadcast shape. Whole numbers become float32. Follows `numpy.isclose`, in TensorFlow
 * `tf.experimental.numpy.isclose`. Throws `ValueError` for shapes that do not broadcast, `TypeError` for strings.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { isclose } = tf.experimental.numpy;
 * console.log(isclose([1, 2, Infinity], [1.000001, 2.1, Infinity]).arraySync()); // [true, false, true]
 * ```
 */
export function isclose(a: TensorLike, b: TensorLike, options: CloseOptions = {}): Tensor {
  return compose(() => close(a, b, "isclose", options));
}

/**
 * True where all elements are close as {@linkcode isclose} says; a bool scalar. Follows `numpy.allclose`, in TensorFlow `tf.experimental.numpy.allclose`. Throws as
 * it does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.allclose([1, 2], [1, 2.1], { rtol: 0.1 }).item()); // true
 * ```
 */
export function allclose(a: TensorLike, b: TensorLike, options: CloseOptions = {}): Tensor {
  return compose(() => all(close(a, b, "allclose", options)));
}

function close(
  a: TensorLike,
  b: TensorLike,
  fn: "isclose" | "allclose",
  options: CloseOptions,
): Tensor {
  checkClose[fn](options);
  const { rtol = 1e-5, atol = 1e-8, equalNan = false } = options;
  wantNumber(rtol, "rtol", fn);
  wantNumber(atol, "atol", fn);
  const [x, y] = toMatchingInputs(a, b, fn).map((input) => {
    const t = asTensor(input);
    return isInexact(t) ? t : realInput(t, "a", fn);
  });
  const isComplex = x.dtype.startsWith("complex"),
    finite = (t: Tensor): Tensor =>
      isComplex ? logicalAnd(isFinite(real(t)), isFinite(imag(t))) : isFinite(t);
  const near = lessEqual(abs(sub(x, y)), add(mul(abs(y), rtol), atol));
  const both = logicalAnd(logicalAnd(finite(x), finite(y)), near);
  const same = logicalOr(both, equal(x, y));
  return equalNan ? logicalOr(same, logicalAnd(notNumber(x), notNumber(y))) : same;
}

function notNumber(x: Tensor): Tensor {
  return x.dtype.startsWith("complex") ? logicalOr(isNaN(real(x)), isNaN(imag(x))) : isNaN(x);
}

/** Options of `nanToNum`. */
export interface NanToNumOptions {
  /** Stands for NaN. Default 0. */
  readonly nan?: number;
  /** Stands for infinity. Default: the greatest number of the dtype. */
  readonly posinf?: number;
  /** Stands for minus infinity. Default: the least number of the dtype. */
  readonly neginf?: number;
}

const checkNanToNum = optionCheck<NanToNumOptions>("nanToNum", {
  nan: true,
  posinf: true,
  neginf: true,
});

const GREATEST: Readonly<Record<string, number>> = {
  float16: 65504,
  bfloat16: 3.3895313892515355e38,
  float32: 3.4028234663852886e38,
  float64: Number.MAX_VALUE,
};

/**
 * `x` with numbers for NaN and infinities; of complex numbers in both parts. Of the shape and dtype of `x`. Follows `numpy.nan_to_num`. Throws `TypeError` for strings.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.nanToNum([NaN, 1, -Infinity], { neginf: -9 }).arraySync()); // [0, 1, -9]
 * ```
 */
export function nanToNum(x: TensorLike, options: NanToNumOptions = {}): Tensor {
  checkNanToNum(options);
  return compose(() => {
    const input = asTensor(toNumberInput(x, "nanToNum"));
    if (!isInexact(input)) return add(input, 0);
    const replaced = (t: Tensor): Tensor => {
      const most = GREATEST[t.dtype], { nan = 0, posinf = most, neginf = -most } = options;
      const finite = where(greater(t, most), posinf, where(less(t, -most), neginf, t));
      return where(isNaN(t), nan, finite);
    };
    return input.dtype.startsWith("complex")
      ? complex(replaced(real(input)), replaced(imag(input)))
      : replaced(input);
  });
}

/** Returns the input with `rest` for NaN, and where it was a number; null where it cannot be NaN. */
export function counted(
  x: TensorLike,
  fn: string,
  rest: number,
): { readonly filled: Tensor; readonly isNumber: Tensor | null } {
  const input = asTensor(toNumberInput(x, fn));
  if (!isInexact(input)) return { filled: input, isNumber: null };
  const isNumber = logicalNot(notNumber(input));
  return { filled: where(isNumber, input, cast(rest, input.dtype)), isNumber };
}

/**
 * The sum over axes, NaN counted as 0; over all where no axis is given. Follows `numpy.nansum`, in TensorFlow `tf.experimental.numpy.nansum`. Throws `ValueError` for an axis out of
 * range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.nansum([[1, NaN], [2, 3]], 1).arraySync()); // [1, 5]
 * ```
 */
export function nansum(x: TensorLike, axis?: Axes, keepDims = false): Tensor {
  return compose(() => sum(counted(x, "nansum", 0).filled, axis, keepDims));
}

/**
 * The product over axes, NaN counted as 1; over all where no axis is given. Follows `numpy.nanprod`, in TensorFlow `tf.experimental.numpy.nanprod`. Throws `ValueError` for an axis
 * out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.nanprod([[2, NaN], [2, 3]], 1).arraySync()); // [2, 6]
 * ```
 */
export function nanprod(x: TensorLike, axis?: Axes, keepDims = false): Tensor {
  return compose(() => prod(counted(x, "nanprod", 1).filled, axis, keepDims));
}

/**
 * The greatest element over axes that is a number; NaN where none is. Follows `numpy.nanmax`. Throws `ValueError` for an axis out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.nanmax([[1, NaN], [2, 3]], 0).arraySync()); // [2, 3]
 * ```
 */
export function nanmax(x: TensorLike, axis?: Axes, keepDims = false): Tensor {
  return compose(() => extreme(x, "nanmax", { axis, keepDims }));
}

/**
 * The least element over axes that is a number; NaN where none is. Follows `numpy.nanmin`. Throws `ValueError` for an axis out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.nanmin([[1, NaN], [2, 3]], 0).arraySync()); // [1, 3]
 * ```
 */
export function nanmin(x: TensorLike, axis?: Axes, keepDims = false): Tensor {
  return compose(() => extreme(x, "nanmin", { axis, keepDims }));
}

interface Over {
  readonly axis: Axes;
  readonly keepDims: boolean;
}

function extreme(x: TensorLike, fn: "nanmax" | "nanmin", { axis, keepDims }: Over): Tensor {
  const isMax = fn === "nanmax";
  const { filled, isNumber } = counted(x, fn, isMax ? -Infinity : Infinity);
  const found = (isMax ? max : min)(filled, axis, keepDims);
  if (isNumber === null) return found;
  const count = sum(cast(isNumber, "int32"), axis, keepDims);
  return where(equal(count, 0), NaN, found);
}

/**
 * The mean over axes of the elements that are numbers; NaN where none is. Integers become float32. Follows `numpy.nanmean`, in TensorFlow `tf.experimental.numpy.nanmean`. Throws
 * `ValueError` for an axis out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.nanmean([[1, NaN], [2, 4]], 1).arraySync()); // [1, 3]
 * ```
 */
export function nanmean(x: TensorLike, axis?: Axes, keepDims = false): Tensor {
  return compose(() => meanOf(floats(x, "nanmean"), "nanmean", { axis, keepDims }));
}

/**
 * The mean squared distance from {@linkcode nanmean} over axes; NaN where no element is a number. Integers become float32. Follows `numpy.nanvar`. Throws `ValueError`
 * for an axis out of range, `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.nanvar([1, NaN, 5]).item()); // 4
 * ```
 */
export function nanvar(x: TensorLike, axis?: Axes, keepDims = false): Tensor {
  return compose(() => varianceOf(x, "nanvar", { axis, keepDims }));
}

/**
 * The root of {@linkcode nanvar}. Follows `numpy.nanstd`. Throws as it does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.nanstd([1, NaN, 5]).item()); // 2
 * ```
 */
export function nanstd(x: TensorLike, axis?: Axes, keepDims = false): Tensor {
  return compose(() => sqrt(varianceOf(x, "nanstd", { axis, keepDims })));
}

function floats(x: TensorLike, fn: string): Tensor {
  const input = asTensor(toInput(x, "x", fn));
  return DTYPES[input.dtype].kind === "complex" ? input : realInput(input, "x", fn);
}

function meanOf(x: Tensor, fn: string, { axis, keepDims }: Over): Tensor {
  const { filled, isNumber } = counted(x, fn, 0);
  return div(sum(filled, axis, keepDims), sum(cast(isNumber!, x.dtype), axis, keepDims));
}

function varianceOf(x: TensorLike, fn: string, { axis, keepDims }: Over): Tensor {
  const input = realInput(x, "x", fn), { filled, isNumber } = counted(input, fn, 0);
  const count = cast(isNumber!, input.dtype);
  const center = div(sum(filled, axis, true), sum(count, axis, true));
  // What is no number has no slope either: it is left out before it is squared.
  const off = where(isNumber!, sub(filled, center), 0);
  return div(sum(square(off), axis, keepDims), sum(count, axis, keepDims));
}
