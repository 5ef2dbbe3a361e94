/** Reductions made of others: logSumExp, moments, norms. */
import { wantList } from "../../core/arguments.ts";
import { apply1, compose } from "../../core/apply.ts";
import { DTYPES } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { scalar } from "../../core/scalar/expr.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { rank, squeeze, stopGradient } from "../array/view.ts";
import { asTensor, castInput, shapeOfInput, toFloatInput } from "../input.ts";
import { onesOfTensor } from "../array/fill_ops.ts";
import { IndexedSlices } from "../array/indexed_slices.ts";
import { add, addN, conjugate, div, divNoNan, mul, sub } from "../pointwise/arithmetic.ts";
import { real } from "../pointwise/complex.ts";
import { equal, greater, isFinite } from "../pointwise/compare.ts";
import { exp, log } from "../pointwise/exponential.ts";
import { sqrt, square } from "../pointwise/power.ts";
import { abs } from "../pointwise/rounding.ts";
import { maximum, minimum, where } from "../pointwise/select.ts";
import { FLOAT_OR_COMPLEX } from "../pointwise/define_pointwise.ts";
import { defineReduction, keepAxes } from "./define_reduction.ts";
import { allOf, type Axes, axesInput, max, mean, min, Sum, sum } from "./reduce.ts";
import { brief } from "../../core/text.ts";

const EuclideanNorm = defineReduction("EuclideanNorm", {
  op: "sum",
  term: (x) => scalar.mul(x, scalar.conj(x)),
  finish: (total) => scalar.sqrt(total),
  types: FLOAT_OR_COMPLEX,
  known: true,
  expand: ([x, axes], { keep_dims }) => [
    sqrt(apply1(Sum, [mul(x, conjugate(asTensor(x))), axes], { keep_dims })),
  ],
  grad: {
    saves: ["input", "reduction_indices", "output"],
    vjp: (saved, [dy], ctx) => {
      // A norm is real, for all dtypes.
      const own = DTYPES[dy.dtype].kind === "complex" ? cast(real(dy), dy.dtype) : dy;
      const inverse = div(1, saved.output);
      // That of a scalar is its sign, as where the rank is known.
      const factor = ctx.inputs[0].shape === null
        ? where(equal(rank(saved.input), 0), divNoNan(1, saved.output), inverse)
        : inverse;
      // The norm divides elements, not sums of them: tangents of nothing are then 0, not 0 / 0.
      const [each, given] = [factor, own].map((x) => keepAxes(x, saved, ctx));
      return [mul(mul(saved.input, each), given), null];
    },
  },
});

/**
 * `log(sum(exp(x)))` over axes, without overflow; over all where none is given. Integers become float32.
 * TensorFlow `reduce_logsumexp`. Throws `ValueError` for an axis out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.logSumExp([1000, 1000]).item().toFixed(2)); // 1000.69
 * ```
 */
export function logSumExp(x: TensorLike, axis?: Axes, keepDims = false): Tensor {
  return compose(() => {
    const input = asTensor(toFloatInput(x, "x", "logSumExp"));
    const greatest = max(input, axis, true);
    // Nothing is subtracted for an infinite maximum: infinity minus infinity is NaN.
    const offset = stopGradient(where(isFinite(greatest), greatest, 0));
    const total = log(sum(exp(sub(input, offset)), axis, keepDims));
    // Summing a kept axis of extent 1 only removes the axis.
    return add(total, keepDims ? offset : sum(offset, axis));
  });
}

/** Mean and variance. */
export interface Moments {
  /** Mean over the axes. */
  readonly mean: Tensor;
  /** Mean squared distance from the mean. */
  readonly variance: Tensor;
}

/**
 * Mean and variance over axes; over all where none is given. Integers become float32; of complex numbers the imaginary part of the
 * variance is 0. TensorFlow `tf.nn.moments`.
 * Throws `ValueError` for an axis out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { mean, variance } = tf.moments([[1, 3], [2, 8]], 1);
 * console.log(mean.arraySync()); // [2, 5]
 * console.log(variance.arraySync()); // [1, 9]
 * ```
 */
export function moments(x: TensorLike, axis?: Axes, keepDims = false): Moments {
  return compose(() => {
    const given = toFloatInput(x, "x", "moments");
    // As in TensorFlow: squares soon exceed float16.
    const input = asTensor(given.dtype === "float16" ? castInput(given, "float32") : given);
    const kept = mean(input, axis, true);
    const off = sub(input, kept);
    const isComplex = DTYPES[input.dtype].kind === "complex";
    const variance = mean(isComplex ? mul(off, conjugate(off)) : square(off), axis, keepDims);
    // The mean over axes of extent 1 only removes the axes.
    const result = { mean: keepDims ? kept : mean(kept, axis), variance };
    if (given.dtype === input.dtype) return result;
    return { mean: cast(result.mean, given.dtype), variance: cast(variance, given.dtype) };
  });
}

/**
 * Norm over all elements, over one axis (a vector's) or over two (a matrix's). `ord` is `1`, `Infinity`, `-Infinity`, `2`,
 * `"euclidean"` or, for matrices, `"fro"`. TensorFlow.js `norm`. Throws `ValueError` for another `ord`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.norm([3, 4]).item()); // 5
 * console.log(tf.norm([[1, -2], [3, 4]], 1, [0, 1]).item()); // 6
 * ```
 */
export function norm(
  x: TensorLike,
  ord: number | "euclidean" | "fro" = "euclidean",
  axis: number | readonly number[] | null = null,
  keepDims = false,
): Tensor {
  return compose(() => {
    const input = asTensor(toFloatInput(x, "x", "norm"));
    const axes = axis === null ? null : typeof axis === "number" ? [axis] : axis;
    if (axes !== null && axes.length === 2) {
      return matrixNorm(input, ord, axes[0], axes[1], keepDims);
    }
    if (axes !== null && axes.length > 2) {
      throw new ValueError(
        `Cannot take the norm over ${axes.length} axes: wanted one, two or null`,
      );
    }
    switch (ord) {
      case 1:
        return sum(abs(input), axes, keepDims);
      case Infinity:
        return max(abs(input), axes, keepDims);
      case -Infinity:
        return min(abs(input), axes, keepDims);
      case 2:
      case "euclidean":
        return vectorNorm(input, axes, keepDims);
    }
    throw new ValueError(
      `Cannot take the norm of a vector: received ord ${
        brief(ord)
      }, wanted 1, 2, ±Infinity or "euclidean"`,
    );
  });
}

function vectorNorm(x: Tensor, axes: readonly number[] | null, keepDims: boolean): Tensor {
  const known = shapeOfInput(x);
  // The root of a square is no magnitude where the square is out of range.
  if (known?.length === 0) return cast(abs(x), x.dtype);
  const attrs = { keep_dims: keepDims, ...allOf(x, axes) };
  const length = apply1(EuclideanNorm, [x, axesInput(x, axes)], attrs);
  if (known !== null || axes !== null) return length;
  return where(equal(rank(x), 0), cast(max(abs(x), axes, keepDims), x.dtype), length);
}

function matrixNorm(
  x: Tensor,
  ord: number | string,
  rows: number,
  columns: number,
  keepDims: boolean,
): Tensor {
  if (ord === "fro" || ord === "euclidean") {
    return apply1(EuclideanNorm, [x, axesInput(x, [rows, columns])], { keep_dims: keepDims });
  }
  if (ord === 1 || ord === Infinity || ord === -Infinity) {
    const [first, second] = ord === 1 ? [rows, columns] : [columns, rows];
    const extreme = ord === -Infinity ? min : max;
    const kept = extreme(sum(abs(x), first, true), second, true);
    return keepDims ? kept : squeeze(kept, [rows, columns]);
  }
  throw new ValueError(
    `Cannot take the norm of a matrix: received ord ${
      brief(ord)
    }, wanted 1, ±Infinity, "euclidean" or "fro"`,
  );
}

/**
 * Euclidean norm over all elements, or over axes. TensorFlow.js `euclideanNorm`, TensorFlow op `EuclideanNorm`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.euclideanNorm([[3, 4], [6, 8]], 1).arraySync()); // [5, 10]
 * ```
 */
export function euclideanNorm(
  x: TensorLike,
  axis: number | readonly number[] | null = null,
  keepDims = false,
): Tensor {
  return norm(x, "euclidean", axis, keepDims);
}

/**
 * Scales the tensor down if its Euclidean norm over `axes` (default all) exceeds `clipNorm`; for `IndexedSlices` the
 * values. Follows TensorFlow `tf.clip_by_norm`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.clipByNorm([3, 4], 10).arraySync()); // [3, 4]
 * console.log(tf.clipByNorm([6, 8], 5).arraySync()); // [3, 4]
 * ```
 */
export function clipByNorm(t: TensorLike, clipNorm: TensorLike, axes?: Axes): Tensor {
  if (t instanceof IndexedSlices) return t.withValues(clipByNorm(t.values, clipNorm, axes));
  return compose(() => {
    const x = asTensor(toFloatInput(t, "t", "clipByNorm"));
    const squares = sum(square(x), axes, true), isPositive = greater(squares, 0);
    // Where all is zero the root would have no gradient.
    const length = where(
      isPositive,
      sqrt(where(isPositive, squares, onesOfTensor(squares))),
      squares,
    );
    return div(mul(x, clipNorm), maximum(length, clipNorm));
  });
}

/**
 * Returns the Euclidean norm of all tensors together; null is left out. Follows TensorFlow `tf.linalg.global_norm`.
 * Throws `ValueError` where there is no tensor.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.globalNorm([[3], null, [4]]).item()); // 5
 * ```
 */
export function globalNorm(tensors: readonly (TensorLike | null)[]): Tensor {
  wantList(tensors, "tensors", "globalNorm", "tensors");
  const given = tensors.filter((t) => t !== null);
  if (given.length === 0) throw new ValueError("globalNorm() needs at least one tensor");
  const squares = (t: TensorLike): Tensor => sum(square(t instanceof IndexedSlices ? t.values : t));
  return compose(() => sqrt(addN(given.map(squares))));
}

/**
 * Scales the tensors down together if their common norm exceeds `clipNorm`, and returns them with that norm; null stays
 * null, and all is NaN if the norm is not finite. `IndexedSlices` stay such, with the norm of their values. Follows
 * TensorFlow `tf.clip_by_global_norm`. Throws `ValueError` where there is no tensor.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [[a, b], norm] = tf.clipByGlobalNorm([tf.tensor([6]), tf.tensor([8])], 5);
 * console.log([a!.arraySync(), b!.arraySync(), norm.item()]); // [[3], [4], 10]
 * ```
 */
export function clipByGlobalNorm(
  tensors: readonly (TensorLike | null)[],
  clipNorm: TensorLike,
  useNorm?: TensorLike,
): [(Tensor | null)[], Tensor] {
  wantList(tensors, "tensors", "clipByGlobalNorm", "tensors");
  const length = useNorm === undefined
    ? globalNorm(tensors)
    : asTensor(toFloatInput(useNorm, "useNorm", "clipByGlobalNorm"));
  const clipped = compose(() => {
    const scale = mul(clipNorm, minimum(div(1, length), div(1, clipNorm)));
    const finite = add(scale, sub(length, length));
    return tensors.map((t) => {
      if (t === null) return null;
      return t instanceof IndexedSlices ? t.withValues(mul(t.values, finite)) : mul(t, finite);
    });
  });
  return [clipped, length];
}
