/** NumPy's moves: axes, elements at places along an axis, triangles, turns. */
import { optionCheck, wantList } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { normalizeAxis, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { describe } from "../../core/text.ts";
import { cast } from "../array/cast.ts";
import { onesLike, zerosLike } from "../array/creation.ts";
import { gather } from "../array/gather.ts";
import { concat, stack } from "../array/join.ts";
import { reverse, transpose } from "../array/move.ts";
import { range } from "../array/ranges.ts";
import { broadcastArgs, broadcastTo } from "../array/repeat.ts";
import { slice } from "../array/slice.ts";
import { expandDims, identity, shape } from "../array/view.ts";
import { asTensor, toInput } from "../input.ts";
import { add, mul, toNumberInput } from "../pointwise/arithmetic.ts";
import { greaterEqual, less, lessEqual } from "../pointwise/compare.ts";
import { where } from "../pointwise/select.ts";
import { axisOf, dimsOf, wholeInput } from "./inputs.ts";

/**
 * `x` with axes moved to other places; the others keep their order. Follows `numpy.moveaxis`, in TensorFlow `tf.experimental.numpy.moveaxis`. Throws `ValueError` for axes out of range or
 * repeated, for lists of two lengths and where the rank is unknown.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.moveaxis(tf.zeros([3, 4, 5]), 0, -1).shape); // [4, 5, 3]
 * ```
 */
export function moveaxis(
  x: TensorLike,
  source: number | readonly number[],
  destination: number | readonly number[],
): Tensor {
  return compose(() => {
    const input = asTensor(toInput(x, "x", "moveaxis")), rank = dimsOf(input, "moveaxis").length;
    const [from, to] = [source, destination].map((axes) =>
      [axes].flat().map((axis) => normalizeAxis(axis, rank))
    );
    const isOnce = [from, to].every((axes) => new Set(axes).size === axes.length);
    if (from.length !== to.length || !isOnce) {
      throw new ValueError(
        `Cannot apply moveaxis from ${describe(source)} to ${
          describe(destination)
        }: wanted as many axes, each once`,
      );
    }
    const order = Array.from({ length: rank }, (_, i) => i).filter((i) => !from.includes(i));
    to.map((place, i) => [place, from[i]] as const).sort(([a], [b]) => a - b)
      .forEach(([place, axis]) => order.splice(place, 0, axis));
    return transpose(input, order);
  });
}

/**
 * `x` with two axes exchanged. Follows `numpy.swapaxes`, in TensorFlow `tf.experimental.numpy.swapaxes`. Throws `ValueError` for an axis out of range and where the rank is unknown.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.swapaxes(tf.zeros([3, 4, 5]), 0, 2).shape); // [5, 4, 3]
 * ```
 */
export function swapaxes(x: TensorLike, axis1: number, axis2: number): Tensor {
  return compose(() => swapped(asTensor(toInput(x, "x", "swapaxes")), [axis1, axis2], "swapaxes"));
}

function swapped(x: Tensor, axes: readonly [number, number], fn: string): Tensor {
  const rank = dimsOf(x, fn).length, [a, b] = axes.map((axis) => normalizeAxis(axis, rank));
  const order = Array.from({ length: rank }, (_, i) => (i === a ? b : i === b ? a : i));
  return transpose(x, order);
}

/**
 * `x` turned by `k` times 90 degrees in the plane of two axes, from the first to the second. Follows `numpy.rot90`, in TensorFlow `tf.experimental.numpy.rot90`. Throws `ValueError` for
 * axes out of range or equal, a `k` that is no whole number and where the rank is unknown.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.rot90([[1, 2], [3, 4]]).arraySync()); // [[2, 4], [1, 3]]
 * ```
 */
export function rot90(x: TensorLike, k = 1, axes: readonly [number, number] = [0, 1]): Tensor {
  wantList(axes, "axes", "rot90", "two axes");
  return compose(() => {
    const input = asTensor(toInput(x, "x", "rot90")), rank = dimsOf(input, "rot90").length;
    const [a, b] = axes.map((axis) => normalizeAxis(axis, rank));
    if (a === b || !Number.isInteger(k)) {
      throw new ValueError(
        `Cannot apply rot90 with k ${describe(k)} and axes ${
          describe(axes)
        }: wanted a whole number and two axes`,
      );
    }
    switch (((k % 4) + 4) % 4) {
      case 1:
        return reverse(swapped(input, [a, b], "rot90"), a);
      case 2:
        return reverse(input, [a, b]);
      case 3:
        return reverse(swapped(input, [a, b], "rot90"), b);
      default:
        return identity(input);
    }
  });
}

/**
 * Elements at places along an axis: `indices` has the rank of `x`, its other extents broadcast; a negative place counts from the end. Follows
 * `numpy.take_along_axis`, in TensorFlow `tf.experimental.numpy.take_along_axis`. Throws `ValueError` for an axis out of range, another rank
 * and where a rank is unknown, `TypeError` for places that are no whole numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([[3, 1, 2], [6, 5, 4]]), order = tf.argsort(x);
 * console.log(tf.experimental.numpy.takeAlongAxis(x, order, 1).arraySync()); // [[1, 2, 3], [4, 5, 6]]
 * ```
 */
export function takeAlongAxis(x: TensorLike, indices: TensorLike, axis = -1): Tensor {
  return compose(() => {
    const fn = "takeAlongAxis", input = asTensor(toInput(x, "x", fn));
    const places = wholeInput(indices, "indices", fn);
    const { dims, at } = axisOf(input, axis, { arg: "x", fn });
    if (places.staticShape?.length !== dims.length) {
      throw new ValueError(
        `Cannot apply ${fn} to shape ${shapeText(dims)} at indices of shape ${
          shapeText(places.staticShape)
        }: wanted one rank`,
      );
    }
    return takenAlong(input, places, at);
  });
}

/** Takes elements at places along an axis; both have one rank. */
export function takenAlong(x: Tensor, places: Tensor, at: number): Tensor {
  const last = x.staticShape!.length - 1, wide = cast(places, "int32");
  const n = x.staticShape![at] ?? gather(shape(x), at);
  let [table, rows] = [x, where(less(wide, 0), add(wide, n), wide)].map((t) =>
    at === last ? t : swapped(t, [at, last], "takeAlongAxis")
  );
  const [a, b] = [table, rows].map((t) => t.staticShape!.slice(0, last));
  if (a.some((d, i) => d === null || d !== b[i])) {
    const lead = broadcastArgs(slice(shape(table), [0], [last]), slice(shape(rows), [0], [last]));
    const spread = (t: Tensor): Tensor =>
      broadcastTo(t, concat([lead, slice(shape(t), [last], [1])], 0));
    [table, rows] = [spread(table), spread(rows)];
  }
  const taken = gather(table, rows, last, last);
  return at === last ? taken : swapped(taken, [at, last], "takeAlongAxis");
}

/**
 * The lower triangles of matrices: zeros above the diagonal `k`, of which 0 is the main one and 1 the one above it. Follows `numpy.tril`, in TensorFlow
 * `tf.experimental.numpy.tril`. Throws `ValueError` for less than two dimensions and where the rank is unknown.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.tril([[1, 2], [3, 4]]).arraySync()); // [[1, 0], [3, 4]]
 * ```
 */
export function tril(x: TensorLike, k = 0): Tensor {
  return compose(() => triangle(x, k, "tril"));
}

/**
 * The upper triangles of matrices: zeros below the diagonal `k`. Follows `numpy.triu`, in TensorFlow `tf.experimental.numpy.triu`. Throws as {@linkcode tril}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.triu([[1, 2], [3, 4]], 1).arraySync()); // [[0, 2], [0, 0]]
 * ```
 */
export function triu(x: TensorLike, k = 0): Tensor {
  return compose(() => triangle(x, k, "triu"));
}

function triangle(x: TensorLike, k: number, fn: "tril" | "triu"): Tensor {
  const input = asTensor(toInput(x, "x", fn)), dims = dimsOf(input, fn), rank = dims.length;
  if (rank < 2 || !Number.isInteger(k)) {
    throw new ValueError(
      `Cannot apply ${fn} to x of shape ${shapeText(dims)} at k ${
        describe(k)
      }: wanted matrices and a whole number`,
    );
  }
  const [rows, columns] = [rank - 2, rank - 1].map((axis) =>
    range(0, (dims[axis] ?? gather(shape(input), axis)) as number, 1, "int32")
  );
  const edge = add(expandDims(rows, 1), k);
  const isIn = fn === "tril" ? lessEqual(columns, edge) : greaterEqual(columns, edge);
  return where(isIn, input, zerosLike(input));
}

/** Options of `vander`. */
export interface VanderOptions {
  /** Number of columns. Default: that of elements. */
  readonly n?: number;
  /** True: powers rise from left to right. Default false. */
  readonly increasing?: boolean;
}

const checkVander = optionCheck<VanderOptions>("vander", { n: true, increasing: true });

/**
 * The matrix of Vandermonde: in each row the powers of an element, from `n - 1` to 0. Of shape `[x, n]`. Follows `numpy.vander`, in TensorFlow `tf.experimental.numpy.vander`. Throws
 * `ValueError` for other ranks, a length that is unknown where `n` is not given and an `n` that is no whole number from 0 on.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.vander([1, 2, 3], { n: 3 }).arraySync()); // [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
 * ```
 */
export function vander(x: TensorLike, options: VanderOptions = {}): Tensor {
  checkVander(options);
  return compose(() => {
    const input = asTensor(toNumberInput(x, "vander")), dims = input.staticShape;
    const n = options.n ?? dims?.[0];
    if (dims?.length !== 1 || !Number.isInteger(n) || n! < 0) {
      throw new ValueError(
        `Cannot apply vander to x of shape ${shapeText(dims)} with n ${
          describe(n)
        }: wanted a vector and a whole number`,
      );
    }
    if (n === 0) return slice(expandDims(input, 1), [0, 0], [-1, 0]);
    const powers: Tensor[] = [onesLike(input)];
    for (let i = 1; i < n!; i++) powers.push(i === 1 ? input : mul(powers[i - 1], input));
    return stack(options.increasing ? powers : powers.reverse(), 1);
  });
}
