/** NumPy's places, choices and comparisons of arrays that stand nowhere else. */
import { wantBoolean, wantList } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { normalizeAxis } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { describe } from "../../core/text.ts";
import { cast } from "../array/cast.ts";
import { unstack } from "../array/join.ts";
import { broadcastTo } from "../array/repeat.ts";
import { slice } from "../array/slice.ts";
import { reshape, shape } from "../array/view.ts";
import { asTensor, toInput, toInputs, toMatchingInputs } from "../input.ts";
import { add, floorDiv, mod, mul } from "../pointwise/arithmetic.ts";
import { equal, isNaN } from "../pointwise/compare.ts";
import { logicalAnd, logicalOr } from "../pointwise/logical.ts";
import { minimum, where } from "../pointwise/select.ts";
import { all } from "../reduce/reduce.ts";
import { argsort } from "../reduce/topk.ts";
import { dimsOf, isInexact, wholeInput } from "./inputs.ts";
import { takenAlong } from "./moves.ts";

function extentsOf(dims: readonly number[], fn: string): readonly number[] {
  wantList(dims, "dims", fn, "extents");
  if (dims.length > 0 && dims.every((d) => Number.isInteger(d) && d > 0)) return dims;
  throw new ValueError(
    `Cannot apply ${fn} to dims ${describe(dims)}: wanted whole numbers from 1 on`,
  );
}

/** The step of each axis in elements, the last being 1. */
const stepsOf = (dims: readonly number[]): number[] =>
  dims.map((_, i) => dims.slice(i + 1).reduce((a, b) => a * b, 1));

/**
 * The places in an array of shape `dims` at which its flat elements `indices` stand: a tensor for each axis, of the shape and dtype of `indices`. Follows `numpy.unravel_index`;
 * places are not checked. Throws `ValueError` for extents that are no whole numbers from 1 on, `TypeError` for indices that are no whole numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [rows, columns] = tf.experimental.numpy.unravelIndex([5, 2], [2, 3]);
 * console.log(rows.arraySync(), columns.arraySync()); // [1, 0] [2, 2]
 * ```
 */
export function unravelIndex(indices: TensorLike, dims: readonly number[]): Tensor[] {
  return compose(() => {
    const flat = wholeInput(indices, "indices", "unravelIndex");
    const extents = extentsOf(dims, "unravelIndex");
    return stepsOf(extents).map((step, i) => mod(floorDiv(flat, step), extents[i]) as Tensor);
  });
}

/**
 * The flat places in an array of shape `dims` of elements at `places`, a tensor for each axis; of their broadcast shape. Follows `numpy.ravel_multi_index`; places are not checked. Throws
 * `ValueError` for another number of tensors and as {@linkcode unravelIndex}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.ravelMultiIndex([[1, 0], [2, 2]], [2, 3]).arraySync()); // [5, 2]
 * ```
 */
export function ravelMultiIndex(places: readonly TensorLike[], dims: readonly number[]): Tensor {
  const fn = "ravelMultiIndex";
  wantList(places, "places", fn, "tensors");
  return compose(() => {
    const extents = extentsOf(dims, fn);
    if (places.length !== extents.length) {
      throw new ValueError(
        `Cannot apply ${fn} to ${places.length} tensors of places in dims ${
          describe(dims)
        }: wanted one for each`,
      );
    }
    const steps = stepsOf(extents);
    return places.map((p, i) => mul(wholeInput(p, `places[${i}]`, fn), steps[i]) as Tensor)
      .reduce((sum, part) => add(sum, part));
  });
}

/**
 * The order in which rows rise that are sorted by several keys, the last key first: the places of the last axis of each key, int32; equals keep their order. `keys` is a list, or a
 * tensor whose first axis counts them. Follows `numpy.lexsort`. Throws `ValueError` for no keys, an axis out of range and where a rank or the number of keys is unknown.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const first = [2, 1, 2], second = [1, 9, 0];
 * console.log(tf.experimental.numpy.lexsort([second, first]).arraySync()); // [1, 2, 0]
 * ```
 */
export function lexsort(keys: readonly TensorLike[] | Tensor, axis = -1): Tensor {
  return compose(() => {
    const list = keyList(keys), at = normalizeAxis(axis, dimsOf(list[0], "lexsort").length);
    return list.slice(1).reduce(
      (order, key) => takenAlong(order, argsort(takenAlong(key, order, at), at), at),
      argsort(list[0], at),
    );
  });
}

function keyList(keys: readonly TensorLike[] | Tensor): Tensor[] {
  if (!Array.isArray(keys)) {
    const input = asTensor(toInput(keys as Tensor, "keys", "lexsort"));
    const [count] = dimsOf(input, "lexsort", "keys");
    if (count === null || count === undefined) {
      throw new ValueError("Cannot apply lexsort: the number of keys must be known");
    }
    return keyList(unstack(input));
  }
  if (keys.length === 0) throw new ValueError("Cannot apply lexsort: pass at least one key");
  return keys.map((key, i) => asTensor(toInput(key, `keys[${i}]`, "lexsort")));
}

/**
 * The quotient rounded down and the remainder with the sign of the divisor: `[floorDiv(a, b), mod(a, b)]`, of the broadcast shape. Follows `numpy.divmod`, in TensorFlow
 * `tf.experimental.numpy.divmod`. Throws `ValueError` for shapes that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [quotient, rest] = tf.experimental.numpy.divmod([7, -7], 3);
 * console.log(quotient.arraySync(), rest.arraySync()); // [2, -3] [1, 2]
 * ```
 */
export function divmod(a: TensorLike, b: TensorLike): [Tensor, Tensor] {
  return compose(() => {
    const [x, y] = toMatchingInputs(a, b, "divmod", ["a", "b"]) as [Tensor, Tensor];
    return [floorDiv(x, y), mod(x, y)];
  });
}

/**
 * For each element the choice of the first condition that holds, else `otherwise`; of the broadcast shape. Follows `numpy.select`, in TensorFlow `tf.experimental.numpy.select`. Throws
 * `ValueError` for lists of two lengths, none at all and shapes that do not broadcast, `TypeError` for conditions that are not bool.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([-3, 1, 8]);
 * const y = tf.experimental.numpy.select([tf.less(x, 0), tf.less(x, 5)], [0, x], 5);
 * console.log(y.arraySync()); // [0, 1, 5]
 * ```
 */
export function select(
  conditions: readonly TensorLike[],
  choices: readonly TensorLike[],
  otherwise: TensorLike = 0,
): Tensor {
  wantList(conditions, "conditions", "select", "tensors");
  wantList(choices, "choices", "select", "tensors");
  return compose(() => {
    wantAsMany(conditions, choices.length, "select");
    const values = toInputs([...choices, otherwise], "choices", "select").map(asTensor);
    return conditions.reduceRight<Tensor>(
      (rest, condition, i) => where(condition, values[i], rest),
      values[conditions.length],
    );
  });
}

function wantAsMany(conditions: readonly TensorLike[], count: number, fn: string): void {
  if (conditions.length > 0 && conditions.length === count) return;
  throw new ValueError(
    `Cannot apply ${fn} to ${conditions.length} conditions and ${count} choices: wanted as many, and at least one`,
  );
}

/**
 * A function in pieces: for each element of `x` the piece of the last condition that holds, a function of `x` or a number. One piece more than conditions is for the rest, which
 * else is 0. Each function computes all elements. Follows `numpy.piecewise`. Throws `ValueError` for another number of pieces, `TypeError` for pieces that are neither.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([-2, 0, 3]);
 * const y = tf.experimental.numpy.piecewise(x, [tf.less(x, 0)], [tf.neg, (v) => tf.mul(v, 10)]);
 * console.log(y.arraySync()); // [2, 0, 30]
 * ```
 */
export function piecewise(
  x: TensorLike,
  conditions: readonly TensorLike[],
  pieces: readonly (TensorLike | ((x: Tensor) => TensorLike))[],
): Tensor {
  wantList(conditions, "conditions", "piecewise", "tensors");
  wantList(pieces, "pieces", "piecewise", "functions and numbers");
  return compose(() => {
    const input = asTensor(toInput(x, "x", "piecewise"));
    wantAsMany(conditions, Math.min(pieces.length, conditions.length), "piecewise");
    if (pieces.length > conditions.length + 1) {
      throw new ValueError(
        `Cannot apply piecewise to ${conditions.length} conditions and ${pieces.length} pieces: wanted one for each, and one for the rest`,
      );
    }
    const valueOf = (piece: typeof pieces[number]): Tensor => {
      const value = typeof piece === "function" ? piece(input) : piece;
      return cast(toMatchingInputs(input, value, "piecewise")[1] as Tensor, input.dtype) as Tensor;
    };
    const rest = valueOf(pieces[conditions.length] ?? 0);
    return conditions.reduce<Tensor>(
      (y, condition, i) => where(condition, valueOf(pieces[i]), y),
      broadcastTo(rest, shape(input)),
    );
  });
}

/**
 * True where two arrays have one shape and equal elements; a scalar, bool. With `equalNan` NaN equals NaN. Follows `numpy.array_equal`, in TensorFlow
 * `tf.experimental.numpy.array_equal`. Throws `ValueError` where a rank is unknown.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.arrayEqual([1, 2], [1, 2]).item()); // true
 * ```
 */
export function arrayEqual(a: TensorLike, b: TensorLike, equalNan = false): Tensor {
  const fn = "arrayEqual";
  wantBoolean(equalNan, "equalNan", fn);
  return compose(() => {
    const [x, y] = toMatchingInputs(a, b, fn, ["a", "b"]).map(asTensor);
    const isOne = dimsOf(x, fn, "a").length === dimsOf(y, fn, "b").length;
    if (!isOne) return asTensor(toInput(false, "a", fn));
    const isAlike = all(equal(shape(x), shape(y)));
    // Elements of another shape are compared as far as both go, which then counts no more.
    const [p, q] = [x, y].map((t) => reshape(t, [-1])), n = minimum(shape(p), shape(q));
    const [u, v] = [p, q].map((t) => slice(t, [0], n));
    const same = equal(u, v), both = equalNan && isInexact(u);
    return logicalAnd(isAlike, all(both ? logicalOr(same, logicalAnd(isNaN(u), isNaN(v))) : same));
  });
}
