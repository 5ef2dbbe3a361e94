/** Spectra with their zero frequency in the middle. */
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { describe } from "../../core/text.ts";
import { type Extent, extentAt, vector } from "../extents.ts";
import { roll } from "../array/move.ts";
import { asTensor, shapeOfInput, toInput } from "../input.ts";
import { floorDiv, neg } from "../pointwise/arithmetic.ts";

function shifted(
  x: TensorLike,
  axes: number | readonly number[] | undefined,
  fn: string,
  sign: 1 | -1,
): Tensor {
  return compose(() => {
    const input = asTensor(toInput(x, "x", fn)), shape = shapeOfInput(input);
    if (shape === null) throw new ValueError(`Cannot shift in ${fn}: the rank of x must be known`);
    const all = axes === undefined ? shape.map((_, i) => i) : [axes].flat() as number[];
    const shifts = all.map((axis): Extent => {
      if (!Number.isInteger(axis) || shape.at(axis) === undefined) {
        throw new ValueError(
          `Cannot shift in ${fn}: axes must lie in a rank of ${shape.length}, received ${
            describe(axis)
          }`,
        );
      }
      const extent = extentAt(input, axis < 0 ? axis + shape.length : axis);
      if (typeof extent === "number") return sign * Math.floor(extent / 2);
      const half = floorDiv(extent, 2);
      return sign < 0 ? neg(half) : half;
    });
    return all.length === 0 ? input : roll(input, vector(shifts) as number[] | Tensor, all);
  });
}

/**
 * Moves the zero frequency of a spectrum to the middle, along all axes or those given. TensorFlow `tf.signal.fftshift`. Throws `ValueError` for
 * axes beyond the rank, which must be known.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.signal.fftshift([0, 1, 2, -2, -1]).arraySync()); // [-2, -1, 0, 1, 2]
 * ```
 */
export function fftshift(x: TensorLike, axes?: number | readonly number[]): Tensor {
  return shifted(x, axes, "fftshift", 1);
}

/**
 * Inverse of {@linkcode fftshift}. TensorFlow `tf.signal.ifftshift`. Throws as it does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.signal.ifftshift([-2, -1, 0, 1, 2]).arraySync()); // [0, 1, 2, -2, -1]
 * ```
 */
export function ifftshift(x: TensorLike, axes?: number | readonly number[]): Tensor {
  return shifted(x, axes, "ifftshift", -1);
}
