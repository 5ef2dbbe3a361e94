/**
 * Reductions made of others: logSumExp, moments, norms.
 * May import core.
 */
import { compose } from "../core/apply.ts";
import { ValueError } from "../core/errors.ts";
import type { Tensor, TensorLike } from "../core/tensor.ts";
import { squeeze, stopGradient } from "./array_view.ts";
import { asTensor, shapeOfInput, toFloatInput } from "./input.ts";
import { add, sub } from "./pointwise_arithmetic.ts";
import { isFinite } from "./pointwise_compare.ts";
import { exp, log } from "./pointwise_exponential.ts";
import { sqrt, square } from "./pointwise_power.ts";
import { abs } from "./pointwise_rounding.ts";
import { where } from "./pointwise_select.ts";
import { type Axes, max, mean, min, sum } from "./reduce.ts";

/**
 * `log(sum(exp(x)))` over axes, without overflow; over all where none is given. Integers become float32.
 * TensorFlow `reduce_logsumexp`. Throws `ValueError` for an axis out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertAlmostEquals } from "@std/assert";
 * assertAlmostEquals(tf.logSumExp([1000, 1000]).item(), 1000 + Math.log(2), 1e-3);
 * ```
 */
export function logSumExp(x: TensorLike, axis?: Axes, keepDims = false): Tensor {
  return compose(() => {
    const input = asTensor(toFloatInput(x, "x", "logSumExp"));
    const greatest = max(input, axis, true);
    // Nothing is taken off where the greatest is infinite: infinity minus infinity is NaN.
    const offset = stopGradient(where(isFinite(greatest), greatest, 0));
    const total = log(sum(exp(sub(input, offset)), axis, keepDims));
    // Summing a kept axis of extent 1 takes the axis away, and nothing else.
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
 * Mean and variance over axes; over all where none is given. Integers become float32. TensorFlow `tf.nn.moments`.
 * Throws `ValueError` for an axis out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const { mean, variance } = tf.moments([[1, 3], [2, 8]], 1);
 * assertEquals(mean.arraySync(), [2, 5]);
 * assertEquals(variance.arraySync(), [1, 9]);
 * ```
 */
export function moments(x: TensorLike, axis?: Axes, keepDims = false): Moments {
  return compose(() => {
    const input = asTensor(toFloatInput(x, "x", "moments"));
    const kept = mean(input, axis, true);
    const variance = mean(square(sub(input, kept)), axis, keepDims);
    // The mean over axes of extent 1 takes the axes away, and nothing else.
    return { mean: keepDims ? kept : mean(kept, axis), variance };
  });
}

/**
 * Norm over all elements, over one axis (a vector's) or over two (a matrix's). `ord` is `1`, `Infinity`, `-Infinity`, `2`,
 * `"euclidean"` or, for matrices, `"fro"`. TensorFlow.js `norm`. Throws `ValueError` for another `ord`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.norm([3, 4]).item(), 5);
 * assertEquals(tf.norm([[1, -2], [3, 4]], 1, [0, 1]).item(), 6);
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
        if (shapeOfInput(input)?.length === 0) return abs(input);
        return sqrt(sum(square(input), axes, keepDims));
    }
    throw new ValueError(
      `Cannot take the norm of a vector: received ord ${ord}, wanted 1, 2, ±Infinity or "euclidean"`,
    );
  });
}

function matrixNorm(
  x: Tensor,
  ord: number | string,
  rows: number,
  columns: number,
  keepDims: boolean,
): Tensor {
  const finish = (kept: Tensor): Tensor => (keepDims ? kept : squeeze(kept, [rows, columns]));
  switch (ord) {
    case 1:
      return finish(max(sum(abs(x), rows, true), columns, true));
    case Infinity:
      return finish(max(sum(abs(x), columns, true), rows, true));
    case -Infinity:
      return finish(min(sum(abs(x), columns, true), rows, true));
    case "fro":
    case "euclidean":
      return sqrt(sum(square(x), [rows, columns], keepDims));
  }
  throw new ValueError(
    `Cannot take the norm of a matrix: received ord ${ord}, wanted 1, ±Infinity, "euclidean" or "fro"`,
  );
}

/**
 * Euclidean norm over all elements, or over axes. TensorFlow.js `euclideanNorm`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.euclideanNorm([[3, 4], [6, 8]], 1).arraySync(), [5, 10]);
 * ```
 */
export function euclideanNorm(
  x: TensorLike,
  axis: number | readonly number[] | null = null,
  keepDims = false,
): Tensor {
  return norm(x, "euclidean", axis, keepDims);
}
