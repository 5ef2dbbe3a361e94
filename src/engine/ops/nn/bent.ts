/** Activation functions of the namespace `tf.nn` whose pieces are lines and parabolas, as Keras and JAX have them. */
import { wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { normalizeAxis, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { split } from "../array/join.ts";
import { range } from "../array/ranges.ts";
import { cast } from "../array/cast.ts";
import { gather } from "../array/gather.ts";
import { reshape, shape } from "../array/view.ts";
import { relu6 } from "../pointwise/activation.ts";
import { add, div, mul, sub } from "../pointwise/arithmetic.ts";
import { greater, greaterEqual, less, lessEqual } from "../pointwise/compare.ts";
import { square } from "../pointwise/power.ts";
import { abs } from "../pointwise/rounding.ts";
import { clipByValue, where } from "../pointwise/select.ts";
import { sigmoid } from "../pointwise/sigmoid.ts";
import { sum } from "../reduce/reduce.ts";
import { cumsum } from "../reduce/scan.ts";
import { sort } from "../reduce/topk.ts";
import { toReal } from "./real_input.ts";

/**
 * A sigmoid of three lines: `relu6(x + 3) / 6`. Integers become float32. Follows `jax.nn.hard_sigmoid` and `hard_sigmoid` of Keras 3. Throws `TypeError` for
 * values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.hardSigmoid([-3, 0, 3]).arraySync()); // [0, 0.5, 1]
 * ```
 */
export function hardSigmoid(x: TensorLike): Tensor {
  return compose(() => hardGate(toReal(x, "hardSigmoid")));
}

const hardGate = (x: Tensor): Tensor => div(relu6(add(x, 3)), 6);

/**
 * `x` times {@linkcode hardSigmoid} of it. Integers become float32. Follows `jax.nn.hard_silu` and `hard_silu` of Keras 3. Throws `TypeError` for values that
 * are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.hardSilu([-4, 0, 1.5, 4]).arraySync()); // [-0, 0, 1.125, 4]
 * ```
 */
export function hardSilu(x: TensorLike): Tensor {
  return compose(() => {
    const input = toReal(x, "hardSilu");
    return mul(input, hardGate(input));
  });
}

/**
 * As {@linkcode hardSilu}, by its other name in JAX and Keras.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.hardSwish([0, 4]).arraySync()); // [0, 4]
 * ```
 */
export const hardSwish: typeof hardSilu = hardSilu;

/**
 * `x` between -1 and 1, these beyond. Integers become float32. Follows `jax.nn.hard_tanh` and `hard_tanh` of Keras 3. Throws `TypeError` for values that
 * are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.hardTanh([-2, 0.5, 3]).arraySync()); // [-1, 0.5, 1]
 * ```
 */
export function hardTanh(x: TensorLike): Tensor {
  return compose(() => clipByValue(toReal(x, "hardTanh"), -1, 1));
}

/**
 * `x` where its absolute value is greater than `threshold`, else 0. Integers become float32. Follows `hard_shrink` of Keras 3. Throws `TypeError` for values that
 * are no real numbers and a threshold that is none.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.hardShrink([-2, 0.25, 3]).arraySync()); // [-2, 0, 3]
 * ```
 */
export function hardShrink(x: TensorLike, threshold = 0.5): Tensor {
  return compose(() => {
    const input = toReal(x, "hardShrink");
    wantNumber(threshold, "threshold", "hardShrink");
    return where(greater(abs(input), threshold), input, 0);
  });
}

/**
 * `x` moved towards 0 by `threshold`, 0 where it is not as far. Integers become float32. Follows `soft_shrink` of Keras 3. Throws `TypeError` for values that are
 * no real numbers and a threshold that is none.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.softShrink([-2, 0.25, 3]).arraySync()); // [-1.5, 0, 2.5]
 * ```
 */
export function softShrink(x: TensorLike, threshold = 0.5): Tensor {
  return compose(() => {
    const input = toReal(x, "softShrink");
    wantNumber(threshold, "threshold", "softShrink");
    const below = where(less(input, -threshold), add(input, threshold), 0);
    return where(greater(input, threshold), sub(input, threshold), below);
  });
}

/**
 * `x` where it is greater than `threshold`, else `defaultValue`. Integers become float32. Follows `threshold` of Keras 3. Throws `TypeError` for values that are
 * no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.threshold([-2, 1, 3], 1, 7).arraySync()); // [7, 7, 3]
 * ```
 */
export function threshold(x: TensorLike, threshold: number, defaultValue: number): Tensor {
  return compose(() => {
    const input = toReal(x, "threshold");
    wantNumber(threshold, "threshold", "threshold");
    wantNumber(defaultValue, "defaultValue", "threshold");
    return where(greater(input, threshold), input, defaultValue);
  });
}

/**
 * A softplus of three pieces: 0 up to -1, `(x + 1) ** 2 / 4`, and `x` from 1 on. Integers become float32. Follows `jax.nn.sparse_plus` and `sparse_plus` of
 * Keras 3. Throws `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.sparsePlus([-2, 0, 1, 3]).arraySync()); // [0, 0.25, 1, 3]
 * ```
 */
export function sparsePlus(x: TensorLike): Tensor {
  return compose(() => {
    const input = toReal(x, "sparsePlus");
    const above = where(greaterEqual(input, 1), input, mul(square(add(input, 1)), 0.25));
    return where(lessEqual(input, -1), 0, above);
  });
}

/**
 * A sigmoid of three lines, the slope of {@linkcode sparsePlus}: 0 up to -1, `(x + 1) / 2`, and 1 from 1 on. Integers become float32. Follows
 * `jax.nn.sparse_sigmoid` and `sparse_sigmoid` of Keras 3. Throws `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.sparseSigmoid([-2, 0, 3]).arraySync()); // [0, 0.5, 1]
 * ```
 */
export function sparseSigmoid(x: TensorLike): Tensor {
  return compose(() => {
    const line = mul(add(toReal(x, "sparseSigmoid"), 1), 0.5);
    return where(lessEqual(line, 0), 0, where(greaterEqual(line, 1), 1, line));
  });
}

/**
 * The first half of `x` along an axis, times the sigmoid of the second (a gated linear unit). Integers become float32. Follows `jax.nn.glu` and `glu`
 * of Keras 3; see Dauphin et al. (2017). Throws `ValueError` for an axis out of range or of an odd extent, `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.glu([[2, 4, 0, 1000]]).arraySync()); // [[1, 4]]
 * ```
 */
export function glu(x: TensorLike, axis = -1): Tensor {
  return compose(() => {
    const input = toReal(x, "glu"), dims = input.staticShape;
    const extent = dims?.[normalizeAxis(axis, dims.length)] ?? 0;
    if (extent % 2 !== 0) {
      throw new ValueError(
        `Cannot apply glu to x of shape ${
          shapeText(dims)
        }: wanted an even extent along axis ${axis}`,
      );
    }
    const [value, gate] = split(input, 2, axis);
    return mul(value, sigmoid(gate));
  });
}

/**
 * The nearest distribution to `x` along an axis: no number is negative, all sum to 1, and many are 0. Integers become float32. Follows Martins and
 * Astudillo (2016); `sparsemax` of Keras 3.15 gives rows that sum to less where several numbers are above 0. Throws `ValueError` for an axis out of range,
 * scalars and unknown ranks, `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.nn.sparsemax([[1, 1.5, -1]]).arraySync()); // [[0.25, 0.75, 0]]
 * ```
 */
export function sparsemax(x: TensorLike, axis = -1): Tensor {
  return compose(() => {
    const input = toReal(x, "sparsemax"), dims = input.staticShape;
    if (dims === null) {
      throw new ValueError("Cannot apply sparsemax: the rank of x must be known");
    }
    const at = normalizeAxis(axis, dims.length);
    const sorted = sort(input, at, "DESCENDING");
    const n = dims[at] ?? gather(shape(input), at);
    const ranks = reshape(
      cast(add(range(0, n, 1, "int32"), 1), input.dtype),
      dims.map((_, i) => (i === at ? -1 : 1)),
    );
    const isIn = greater(add(mul(ranks, sorted), 1), cumsum(sorted, at));
    const cut = cutOf(sorted, isIn, at);
    // Of the elements above the cut alone its gradient is made, not of an order.
    const isAbove = greater(input, cut);
    return where(isAbove, sub(input, cutOf(input, isAbove, at)), 0);
  });
}

/** Returns the number above which the chosen elements exceed it by 1 in all. */
function cutOf(x: Tensor, isIn: Tensor, axis: number): Tensor {
  const total = sum(where(isIn, x, 0), axis, true);
  return div(sub(total, 1), sum(cast(isIn, x.dtype), axis, true));
}
