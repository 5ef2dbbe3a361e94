/** Parts of tensors at places that may be computed, kept inside as JAX keeps them: dynamicSlice, dynamicUpdateSlice. */
import { compose, type OpInput } from "../core/apply.ts";
import { wantList, wrongArgument } from "../core/arguments.ts";
import { DTYPES, isInteger } from "../core/dtype.ts";
import { ValueError } from "../core/errors.ts";
import { NdArray } from "../core/nd_array.ts";
import { type PartialShape, shapeText } from "../core/shape.ts";
import { Tensor, type TensorLike } from "../core/tensor.ts";
import { describe } from "../core/text.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";
import { cast } from "./array/cast.ts";
import { gather } from "./array/gather.ts";
import { concat, unstack } from "./array/join.ts";
import { pad } from "./array/pad.ts";
import { range } from "./array/ranges.ts";
import { slice } from "./array/slice.ts";
import { hostInts, identity, reshape, shape } from "./array/view.ts";
import { asTensor, shapeOfInput, toInput, toOperand } from "./input.ts";
import { add, sub } from "./pointwise/arithmetic.ts";
import { greaterEqual, less } from "./pointwise/compare.ts";
import { logicalAnd } from "./pointwise/logical.ts";
import { clipByValue, maximum, minimum, where } from "./pointwise/select.ts";

/** A place along an axis, or an extent: known, or computed. */
type Int = number | Tensor;

/** Places of a part: a list with a whole number or an integer scalar for each axis, or an integer vector. */
export type StartIndices = readonly (number | Tensor)[] | Tensor | NdArray;

/**
 * Returns the part of `sliceSizes` elements that begins at `startIndices`, of the dtype of `x`. A negative start counts from the end; one from which the
 * part would leave `x` is moved inside. Starts may be computed: a list with a number or an integer scalar for each axis, or an integer vector.
 * Throws `ValueError` where the rank of `x` is unknown, for a list of another length and for sizes beyond the extents,
 * `TypeError` for starts that are no whole numbers. Follows `jax.lax.dynamic_slice`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([[1, 2, 3], [4, 5, 6]]);
 * console.log(await tf.dynamicSlice(x, [0, tf.scalar(9, "int32")], [2, 2]).array()); // [[2, 3], [5, 6]]
 * ```
 */
export function dynamicSlice(
  x: TensorLike,
  startIndices: StartIndices,
  sliceSizes: readonly number[],
): Tensor {
  return compose(() => {
    const input = asTensor(toInput(x, "x", "dynamicSlice"));
    const dims = knownRank(input, "x", "dynamicSlice");
    const starts = startsOf(startIndices, dims.length, "dynamicSlice");
    wantList(sliceSizes, "sliceSizes", "dynamicSlice", "whole numbers");
    wantEach(sliceSizes, dims.length, "sliceSizes", "dynamicSlice");
    sliceSizes.forEach((size, axis) => {
      if (Number.isInteger(size) && size >= 0 && size <= (dims[axis] ?? size)) return;
      throw new ValueError(
        `Cannot apply dynamicSlice to shape ${shapeText(dims)}: sliceSizes[${axis}] is ${
          describe(size)
        }`,
      );
    });
    const known = starts.map((start, axis): number | null => {
      const dim = dims[axis];
      if (dim === sliceSizes[axis]) return 0;
      return dim === null || typeof start !== "number"
        ? null
        : inside(start, dim, sliceSizes[axis]) as number;
    });
    const ahead = sliceSizes.map((size, axis) => (known[axis] === null ? -1 : size));
    const part = known.some((start, axis) => start !== null && dims[axis] !== ahead[axis])
      ? slice(input, known.map((start) => start ?? 0), ahead)
      : input;
    return known.reduce<Tensor>((taken, start, axis) => {
      if (start !== null) return taken;
      const size = sliceSizes[axis], from = inside(starts[axis], extent(input, axis), size);
      return gather(taken, add(from, range(0, size, 1, "int32")), axis);
    }, part === input && !known.includes(null) ? identity(input) : part);
  });
}

/**
 * Returns `x` with `update`, of its rank and dtype, in the place that begins at `startIndices`: these are as those of {@linkcode dynamicSlice}. Throws
 * `ValueError` where a rank is unknown or differs and for an update beyond the extents, `TypeError` for another dtype. Follows
 * `jax.lax.dynamic_update_slice`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.dynamicUpdateSlice(tf.zeros([5]), [1, 2], [tf.scalar(9, "int32")]).array()); // [0, 0, 0, 1, 2]
 * ```
 */
export function dynamicUpdateSlice(
  x: TensorLike,
  update: TensorLike,
  startIndices: StartIndices,
): Tensor {
  const fn = "dynamicUpdateSlice";
  return compose(() => {
    const input = asTensor(toInput(x, "x", fn));
    const patch = asTensor(toOperand(update, input, { arg: "update", fn }));
    if (patch.dtype !== input.dtype) {
      throw new TypeError(
        `Cannot apply ${fn} to ${input.dtype} with update of dtype ${patch.dtype}: wanted one dtype`,
      );
    }
    const dims = knownRank(input, "x", fn), sizes = knownRank(patch, "update", fn);
    const starts = startsOf(startIndices, dims.length, fn);
    if (
      sizes.length !== dims.length || sizes.some((n, i) => n !== null && n > (dims[i] ?? n))
    ) {
      throw new ValueError(
        `Cannot apply ${fn} to shape ${shapeText(dims)} with update of shape ${
          shapeText(sizes)
        }: wanted its rank, and no greater extents`,
      );
    }
    if (sizes.includes(0)) {
      // Joined, the update has a gradient, too.
      const all = concat([reshape(patch, [0]), reshape(input, [-1])], 0);
      return reshape(all, shape(input));
    }
    const masks: Tensor[] = [];
    const spread = starts.reduce<Tensor>((grown, start, axis) => {
      const n = extent(patch, axis), dim = extent(input, axis);
      if (n === dim) return grown;
      const at = sub(range(0, dim, 1, "int32"), inside(start, dim, n));
      const isIn = logicalAnd(greaterEqual(at, 0), less(at, n));
      masks.push(reshape(isIn, dims.map((_, i) => (i === axis ? -1 : 1))));
      // One element more may be taken of an update that turns out to be empty.
      const rows = typeof n === "number"
        ? grown
        : pad(grown, dims.map((_, i) => [0, +(i === axis)]));
      return gather(rows, clipByValue(at, 0, typeof n === "number" ? n - 1 : n), axis);
    }, patch);
    // Where all is replaced, `x` still has a gradient: zeros.
    return where(masks.reduce<TensorLike>((a, b) => logicalAnd(a, b), true), spread, input);
  });
}

function knownRank(x: Tensor, arg: string, fn: string): readonly (number | null)[] {
  const dims: PartialShape = shapeOfInput(x);
  if (dims !== null) return dims;
  throw new ValueError(`Cannot apply ${fn}: the rank of ${arg} must be known`);
}

/** Returns the extent of an axis; a scalar where it is unknown. */
function extent(x: Tensor, axis: number): Int {
  return shapeOfInput(x)![axis] ?? gather(shape(x), axis);
}

/** Counts a negative start from the end, and moves it to where a part of `size` elements lies inside. */
function inside(start: Int, dim: Int, size: Int): Int {
  if (typeof start === "number" && typeof dim === "number" && typeof size === "number") {
    return Math.min(Math.max(start < 0 ? start + dim : start, 0), dim - size);
  }
  const last = typeof dim === "number" && typeof size === "number" ? dim - size : sub(dim, size);
  if (typeof start === "number") {
    return minimum(start < 0 ? maximum(add(dim, start), 0) : start, last);
  }
  return minimum(maximum(where(less(start, 0), add(start, dim), start), 0), last);
}

function startsOf(given: StartIndices, rank: number, fn: string): Int[] {
  if (given instanceof NdArray || given instanceof Tensor) {
    const dims = shapeOfInput(given as OpInput);
    if (dims !== null && (dims.length !== 1 || (dims[0] ?? rank) !== rank)) {
      throw new ValueError(
        `Cannot apply ${fn} at startIndices of shape ${shapeText(dims)}: wanted [${rank}]`,
      );
    }
    wantWhole(given, "startIndices", fn);
    if (given instanceof NdArray) return hostInts(given);
    return unstack(reshape(narrow(given), [rank]));
  }
  wantList(given, "startIndices", fn, "whole numbers and integer scalars");
  wantEach(given, rank, "startIndices", fn);
  return given.map((start, axis) => {
    const arg = `startIndices[${axis}]`;
    if (typeof start === "number") {
      if (Number.isInteger(start)) return start;
      throw wrongArgument(start, arg, fn, "a whole number");
    }
    if (!(start instanceof Tensor)) throw wrongArgument(start, arg, fn, "a number or a scalar");
    const dims = shapeOfInput(start);
    if (dims !== null && dims.length !== 0) {
      throw new ValueError(`Cannot apply ${fn} at ${arg} of shape ${shapeText(dims)}: wanted []`);
    }
    wantWhole(start, arg, fn);
    return narrow(start);
  });
}

/** Returns places as int32; those beyond it are its ends, as both are moved inside. */
function narrow(places: Tensor): Tensor {
  const { bytes, kind } = DTYPES[places.dtype],
    isWide = bytes > 4 || (bytes === 4 && kind === "uint");
  if (!isWide) return cast(places, "int32");
  const low = kind === "uint" ? 0 : -(2 ** 31);
  return cast(minimum(maximum(places, low), 2 ** 31 - 1), "int32");
}

function wantEach(list: readonly unknown[], rank: number, arg: string, fn: string): void {
  if (list.length === rank) return;
  throw new ValueError(
    `Cannot apply ${fn}: ${arg} has ${list.length} numbers for a rank of ${rank}`,
  );
}

function wantWhole({ dtype }: OpInput, arg: string, fn: string): void {
  if (isInteger(dtype)) return;
  throw new TypeError(`Cannot apply ${fn} at ${arg} of dtype ${dtype}: wanted whole numbers`);
}
