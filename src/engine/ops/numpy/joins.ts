/** NumPy's joins and splits along the first axes, and inputs of at least so many dimensions. */
import { wantList, wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { describe } from "../../core/text.ts";
import { concat, split } from "../array/join.ts";
import { reverse } from "../array/move.ts";
import { expandDims, identity, reshape } from "../array/view.ts";
import { asTensor, toInput, toInputs } from "../input.ts";
import { axisOf, dimsOf } from "./inputs.ts";

/** Adds axes of extent 1 as NumPy does: before a vector's for two dimensions, on both sides of it for three. */
function deepened(x: Tensor, rank: 1 | 2 | 3, fn: string): Tensor {
  const own = dimsOf(x, fn).length;
  if (own >= rank) return identity(x);
  if (own === 0) return reshape(x, Array(rank).fill(1));
  if (own === 2) return expandDims(x, 2);
  const row = expandDims(x, 0);
  return rank === 2 ? row : expandDims(row, 2);
}

const deepenedInput = (x: TensorLike, rank: 1 | 2 | 3, fn: string): Tensor =>
  compose(() => deepened(asTensor(toInput(x, "x", fn)), rank, fn));

/**
 * `x` of at least one dimension: a scalar becomes a vector of one element. Follows `numpy.atleast_1d`, in TensorFlow `tf.experimental.numpy.atleast_1d`. Throws `ValueError` where the
 * rank is unknown.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.atleast1d(3).arraySync()); // [3]
 * ```
 */
export function atleast1d(x: TensorLike): Tensor {
  return deepenedInput(x, 1, "atleast1d");
}

/**
 * `x` of at least two dimensions: a vector becomes a row. Follows `numpy.atleast_2d`, in TensorFlow `tf.experimental.numpy.atleast_2d`. Throws as {@linkcode atleast1d}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.atleast2d([1, 2]).shape); // [1, 2]
 * ```
 */
export function atleast2d(x: TensorLike): Tensor {
  return deepenedInput(x, 2, "atleast2d");
}

/**
 * `x` of at least three dimensions: a vector `[n]` becomes `[1, n, 1]`, a matrix `[m, n]` becomes `[m, n, 1]`. Follows `numpy.atleast_3d`, in TensorFlow
 * `tf.experimental.numpy.atleast_3d`. Throws as {@linkcode atleast1d}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.atleast3d([[1, 2]]).shape); // [1, 2, 1]
 * ```
 */
export function atleast3d(x: TensorLike): Tensor {
  return deepenedInput(x, 3, "atleast3d");
}

function all(tensors: readonly TensorLike[], fn: string): Tensor[] {
  wantList(tensors, "tensors", fn, "tensors");
  if (tensors.length === 0) {
    throw new ValueError(`Cannot apply ${fn}: pass at least one tensor`);
  }
  return toInputs(tensors, "tensors", fn).map(asTensor);
}

/**
 * Joins tensors beside each other: vectors along their only axis, others along the second. Follows `numpy.hstack`, in TensorFlow `tf.experimental.numpy.hstack`. Throws `ValueError`
 * for an empty list, shapes that do not fit and an unknown rank, `TypeError` where dtypes differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.hstack([[[1], [2]], [[3], [4]]]).arraySync()); // [[1, 3], [2, 4]]
 * ```
 */
export function hstack(tensors: readonly TensorLike[]): Tensor {
  return compose(() => {
    const parts = all(tensors, "hstack").map((t) => deepened(t, 1, "hstack"));
    return concat(parts, dimsOf(parts[0], "hstack").length === 1 ? 0 : 1);
  });
}

/**
 * Joins tensors below each other, along the first axis; vectors are rows. Follows `numpy.vstack`, in TensorFlow `tf.experimental.numpy.vstack`. Throws as {@linkcode hstack}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.vstack([[1, 2], [3, 4]]).arraySync()); // [[1, 2], [3, 4]]
 * ```
 */
export function vstack(tensors: readonly TensorLike[]): Tensor {
  return compose(() => concat(all(tensors, "vstack").map((t) => deepened(t, 2, "vstack")), 0));
}

/**
 * Joins tensors along the third axis: vectors are `[1, n, 1]`, matrices `[m, n, 1]`. Follows `numpy.dstack`, in TensorFlow `tf.experimental.numpy.dstack`. Throws as {@linkcode hstack}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.dstack([[1, 2], [3, 4]]).arraySync()); // [[[1, 3], [2, 4]]]
 * ```
 */
export function dstack(tensors: readonly TensorLike[]): Tensor {
  return compose(() => concat(all(tensors, "dstack").map((t) => deepened(t, 3, "dstack")), 2));
}

/**
 * Joins columns: vectors are columns of a matrix, matrices keep theirs. Follows `numpy.column_stack`. Throws as {@linkcode hstack}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.columnStack([[1, 2], [3, 4]]).arraySync()); // [[1, 3], [2, 4]]
 * ```
 */
export function columnStack(tensors: readonly TensorLike[]): Tensor {
  return compose(() => {
    const columns = all(tensors, "columnStack").map((t) =>
      dimsOf(t, "columnStack").length < 2 ? reshape(t, [-1, 1]) : t
    );
    return concat(columns, 1);
  });
}

/**
 * `values` after `x` along an axis; without one both are flat. Follows `numpy.append`, in TensorFlow `tf.experimental.numpy.append`. Throws `ValueError` for shapes that do not fit,
 * `TypeError` where dtypes differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.append([[1, 2]], [3]).arraySync()); // [1, 2, 3]
 * ```
 */
export function append(x: TensorLike, values: TensorLike, axis?: number): Tensor {
  return compose(() => {
    const parts = all([x, values], "append");
    return axis === undefined ? concat(parts.map((t) => reshape(t, [-1])), 0) : concat(parts, axis);
  });
}

/**
 * Splits an axis into parts of nearly one length, or at places: `n` parts, the first of which have one element more, or the parts before, between and after the places. Follows
 * `numpy.array_split`. Throws `ValueError` for an extent that is unknown, no parts and an axis out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const parts = tf.experimental.numpy.arraySplit([1, 2, 3, 4, 5], 2);
 * console.log(parts.map((t) => t.arraySync())); // [[1, 2, 3], [4, 5]]
 * ```
 */
export function arraySplit(
  x: TensorLike,
  partsOrPlaces: number | readonly number[],
  axis = 0,
): Tensor[] {
  return compose(() => pieces(x, partsOrPlaces, { axis, fn: "arraySplit", isEven: false }));
}

interface Pieces {
  readonly axis: number;
  readonly fn: string;
  readonly isEven: boolean;
}

function pieces(
  x: TensorLike,
  cuts: number | readonly number[],
  { axis, fn, isEven }: Pieces,
): Tensor[] {
  if (typeof cuts !== "number") wantList(cuts, "partsOrPlaces", fn, "places");
  const input = asTensor(toInput(x, "x", fn));
  const { dims, at } = axisOf(input, axis, { arg: "x", fn }), n = dims[at];
  if (n === null) {
    throw new ValueError(
      `Cannot apply ${fn} along axis ${at} of shape ${shapeText(dims)}: its extent must be known`,
    );
  }
  return split(
    input,
    typeof cuts === "number" ? parted(n, cuts, fn, isEven) : between(n, cuts, fn),
    at,
  );
}

function parted(n: number, count: number, fn: string, isEven: boolean): number[] {
  if (!Number.isInteger(count) || count < 1 || isEven && n % count !== 0) {
    throw new ValueError(
      `Cannot apply ${fn} to ${n} elements in ${describe(count)} parts: wanted ${
        isEven ? "a divisor" : "a whole number from 1 on"
      }`,
    );
  }
  return Array.from({ length: count }, (_, i) => Math.floor(n / count) + Number(i < n % count));
}

/** Returns the lengths between places, which end with the axis: a negative place counts from its end. */
function between(n: number, places: readonly number[], fn: string): number[] {
  places.forEach((place) => wantNumber(place, "partsOrPlaces", fn));
  const ends = [...places.map((p) => Math.min(n, Math.max(0, p < 0 ? p + n : p))), n];
  const lengths = ends.map((end, i) => end - (i === 0 ? 0 : ends[i - 1]));
  if (lengths.every((length) => Number.isInteger(length) && length >= 0)) return lengths;
  throw new ValueError(
    `Cannot apply ${fn} to ${n} elements at places ${
      describe(places)
    }: wanted whole numbers that rise`,
  );
}

/**
 * Splits along the second axis, vectors along the first: into equal parts, or at places. Follows `numpy.hsplit`, in TensorFlow `tf.experimental.numpy.hsplit`. Throws as
 * {@linkcode arraySplit}, and for parts that are not equal.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const parts = tf.experimental.numpy.hsplit([[1, 2], [3, 4]], 2);
 * console.log(parts.map((t) => t.arraySync())); // [[[1], [3]], [[2], [4]]]
 * ```
 */
export function hsplit(x: TensorLike, partsOrPlaces: number | readonly number[]): Tensor[] {
  return compose(() => {
    const input = asTensor(toInput(x, "x", "hsplit"));
    const axis = dimsOf(input, "hsplit").length === 1 ? 0 : 1;
    return pieces(input, partsOrPlaces, { axis, fn: "hsplit", isEven: true });
  });
}

/**
 * Splits along the first axis of at least two: into equal parts, or at places. Follows `numpy.vsplit`, in TensorFlow `tf.experimental.numpy.vsplit`. Throws as {@linkcode hsplit}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const parts = tf.experimental.numpy.vsplit([[1, 2], [3, 4]], 2);
 * console.log(parts.map((t) => t.arraySync())); // [[[1, 2]], [[3, 4]]]
 * ```
 */
export function vsplit(x: TensorLike, partsOrPlaces: number | readonly number[]): Tensor[] {
  return deepSplit(x, partsOrPlaces, { axis: 0, least: 2, fn: "vsplit" });
}

/**
 * Splits along the third axis: into equal parts, or at places. Follows `numpy.dsplit`, in TensorFlow `tf.experimental.numpy.dsplit`. Throws as {@linkcode hsplit}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const parts = tf.experimental.numpy.dsplit(tf.zeros([1, 2, 4]), [1]);
 * console.log(parts.map((t) => t.shape)); // [[1, 2, 1], [1, 2, 3]]
 * ```
 */
export function dsplit(x: TensorLike, partsOrPlaces: number | readonly number[]): Tensor[] {
  return deepSplit(x, partsOrPlaces, { axis: 2, least: 3, fn: "dsplit" });
}

interface DeepSplit {
  readonly axis: number;
  readonly least: number;
  readonly fn: string;
}

function deepSplit(
  x: TensorLike,
  cuts: number | readonly number[],
  { axis, least, fn }: DeepSplit,
): Tensor[] {
  return compose(() => {
    const input = asTensor(toInput(x, "x", fn));
    wantRank(input, least, fn);
    return pieces(input, cuts, { axis, fn, isEven: true });
  });
}

function wantRank(x: Tensor, least: number, fn: string): void {
  if (dimsOf(x, fn).length >= least) return;
  throw new ValueError(
    `Cannot apply ${fn} to x of shape ${
      shapeText(x.staticShape)
    }: wanted at least ${least} dimensions`,
  );
}

/**
 * Rows in the opposite order: the first axis reversed. Follows `numpy.flipud`, in TensorFlow `tf.experimental.numpy.flipud`. Throws `ValueError` for a scalar and an unknown rank.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.flipud([[1, 2], [3, 4]]).arraySync()); // [[3, 4], [1, 2]]
 * ```
 */
export function flipud(x: TensorLike): Tensor {
  return flipped(x, 0, "flipud");
}

/**
 * Columns in the opposite order: the second axis reversed. Follows `numpy.fliplr`, in TensorFlow `tf.experimental.numpy.fliplr`. Throws `ValueError` for less than two dimensions and an
 * unknown rank.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.fliplr([[1, 2], [3, 4]]).arraySync()); // [[2, 1], [4, 3]]
 * ```
 */
export function fliplr(x: TensorLike): Tensor {
  return flipped(x, 1, "fliplr");
}

function flipped(x: TensorLike, axis: number, fn: string): Tensor {
  return compose(() => {
    const input = asTensor(toInput(x, "x", fn));
    wantRank(input, axis + 1, fn);
    return reverse(input, axis);
  });
}
