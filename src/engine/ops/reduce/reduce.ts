/** Reductions along axes: sum, mean, prod, max, min, any, all. */
import { apply, apply1, type OpInput } from "../../core/apply.ts";
import { type GradContext, type GradRule, lookupOp, type OpDef } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import { isConcrete, normalizeAxes, sizeOf } from "../../core/shape.ts";
import type { Operand, Reduced } from "../../core/composite.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import { concat, stack } from "../array/join.ts";
import { broadcastTo } from "../array/repeat.ts";
import { reshape, shape, size } from "../array/view.ts";
import { cast } from "../array/cast.ts";
import {
  applyConverted,
  asTensor,
  intScalar,
  intVector,
  shapeOfInput,
  toFloatInput,
  toInput,
} from "../input.ts";
import { conjugate, div, mod, mul, toNumberInput } from "../pointwise/arithmetic.ts";
import { equal } from "../pointwise/compare.ts";
import type { Saved } from "../pointwise/define_pointwise.ts";
import { defineReduction, keepAxes, knownAxes } from "./define_reduction.ts";
import { othersProduct } from "./scan.ts";

/** The axes of a reduction: one, several, or all by default. A tensor or an array of axes works too. */
export type Axes = number | readonly number[] | null | undefined | Tensor | NdArray;

/** Makes the host input for the axes of a reduction of `x`. Throws `ValueError` for an axis out of range. */
export function axesInput(x: OpInput, axis: Axes): OpInput {
  if (axis instanceof Tensor || axis instanceof NdArray) return axis;
  const known = shapeOfInput(x);
  if (known !== null) {
    if (axis === null || axis === undefined) return allAxes(known.length);
    return intVector(normalizeAxes(axis, known.length));
  }
  if (axis === null || axis === undefined) {
    const rank = apply1(lookupOp("Rank")!, [x]);
    return apply1(lookupOp("Range")!, [intScalar(0), rank, intScalar(1)]);
  }
  return intVector(typeof axis === "number" ? [axis] : axis);
}

/** Attribute of a reduction over all axes at unknown rank: the result is still a scalar. */
export function allOf(x: OpInput, axis: Axes): { _all?: boolean } {
  return shapeOfInput(x) === null && (axis === null || axis === undefined) ? { _all: true } : {};
}

const everyAxis: NdArray[] = [];

/** All axes of a rank, made once, since most reductions are over all. */
function allAxes(rank: number): NdArray {
  return everyAxis[rank] ??= intVector(normalizeAxes(null, rank));
}

/** Returns the number of elements per result, as a tensor or number in the dtype of `dy`. */
function countOf(dy: Tensor, saved: Saved, ctx: GradContext): Tensor | number {
  const x = ctx.inputs[0].shape, axes = knownAxes(saved, ctx);
  if (x !== null && axes !== null) {
    const dims = normalizeAxes(axes, x.length).map((a) => x[a]);
    if (isConcrete(dims)) return sizeOf(dims);
  }
  const size = (s: TensorLike): Tensor => cast(prod(s), dy.dtype);
  return div(size(ctx.shapeOf(0)), size(shape(dy)));
}

/** Repeats a result's gradient for each element of the input. */
function spread(dy: Tensor, saved: Saved, ctx: GradContext): Tensor {
  return broadcastTo(keepAxes(dy, saved, ctx), ctx.shapeOf(0));
}

const sumGrad: GradRule = {
  saves: ["reduction_indices"],
  vjp: (saved, [dy], ctx) => [spread(dy, saved, ctx), null],
};
const meanGrad: GradRule = {
  saves: ["reduction_indices"],
  vjp: (saved, [dy], ctx) => {
    const count = countOf(dy, saved, ctx);
    const scaled = typeof count === "number" ? mul(dy, 1 / count) : div(dy, count);
    return [spread(scaled, saved, ctx), null];
  },
};
/** Shares the gradient evenly among the elements that equal the result, as in TensorFlow. */
const extremeGrad: GradRule = {
  saves: ["input", "reduction_indices", "output"],
  vjp: (saved, [dy], ctx) => {
    const ties = cast(equal(saved.input, keepAxes(saved.output, saved, ctx)), dy.dtype);
    const count = apply1(Sum, [ties, saved.reduction_indices], { keep_dims: true });
    return [mul(ties, div(keepAxes(dy, saved, ctx), count)), null];
  },
};
/** Returns the product of the other elements, correct for zeros, to any order. */
const prodGrad: GradRule = {
  saves: ["input", "reduction_indices"],
  vjp: (saved, [dy], ctx) => {
    const others = othersOf(saved, ctx), dyKept = keepAxes(dy, saved, ctx);
    return [others === null ? dyKept : mul(dyKept, conjugate(others)), null];
  },
};

/** Returns for each element the product of the others in its result; null if there are none. */
function othersOf(saved: Saved, ctx: GradContext): Tensor | null {
  const axes = knownAxes(saved, ctx), rank = ctx.inputs[0].shape?.length;
  if (axes === null) return othersAlong(saved.reduction_indices, saved.input, ctx);
  let others: Tensor | null = null, x = saved.input;
  for (const axis of rank === undefined ? axes : normalizeAxes(axes, rank)) {
    // Along this axis all elements but one; along the axes before it, whole products.
    const along = othersProduct(x, axis);
    others = others === null ? along : mul(others, along);
    x = apply1(Prod, [x, intVector([axis])], { keep_dims: true });
  }
  return others;
}

/** Does the same along axes known at run time: they become the first one of a matrix, as in TensorFlow. */
function othersAlong(given: Tensor, x: Tensor, ctx: GradContext): Tensor {
  const op = (name: string, ...inputs: OpInput[]): Tensor => apply(lookupOp(name)!, inputs)[0];
  const dims = asTensor(ctx.shapeOf(0) as OpInput), rank = size(dims);
  const all = op("Range", intScalar(0), rank, intScalar(1));
  const kept = op("ListDiff", all, mod(cast(given, "int32"), rank));
  // Differences name each axis once.
  const reduced = op("ListDiff", all, kept);
  const order = concat([reduced, kept]);
  const extents = (axes: Tensor): Tensor => op("GatherV2", dims, axes, intScalar(0));
  const matrix = stack([prod(extents(reduced)), prod(extents(kept))]);
  const others = othersProduct(reshape(op("Transpose", x, order), matrix), 0);
  return op("Transpose", reshape(others, extents(order)), op("InvertPermutation", order));
}

export const Sum: OpDef = defineReduction("Sum", { op: "sum", grad: sumGrad });
export const Mean: OpDef = defineReduction("Mean", { op: "mean", grad: meanGrad });
export const Prod: OpDef = defineReduction("Prod", { op: "prod", grad: prodGrad });
export const Max: OpDef = defineReduction("Max", { op: "max", types: "real", grad: extremeGrad });
export const Min: OpDef = defineReduction("Min", { op: "min", types: "real", grad: extremeGrad });
export const Any: OpDef = defineReduction("Any", { op: "any", types: "bool", grad: null });
export const All: OpDef = defineReduction("All", { op: "all", types: "bool", grad: null });

/** Converts integers and booleans to float32. */
const measurable = (x: Operand, fn: string): OpInput => toFloatInput(x, "x", fn);

/** Converts JavaScript numbers to booleans; tensors must be bool. */
function truths(x: Operand, fn: string): OpInput {
  return toInput(x, "x", fn, x instanceof Tensor || x instanceof NdArray ? {} : { dtype: "bool" });
}

function reduce(
  def: OpDef,
  x: Operand,
  convert: (x: Operand, fn: string) => OpInput,
  fn: string,
  axis: Axes,
  keepDims: boolean,
): Tensor {
  const input = convert(x, fn);
  return applyConverted(def, [input, axesInput(input, axis)], [x], {
    keep_dims: keepDims,
    ...allOf(input, axis),
  });
}

/**
 * Sum over axes; over all where none is given. Booleans count as int32; int32 wraps. TensorFlow op `Sum`.
 * Throws `ValueError` for an axis out of range, `TypeError` for strings.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.sum([[1, 2], [3, 4]], 0).arraySync(), [4, 6]);
 * ```
 */
export function sum<X extends Operand, A extends Axes = undefined>(
  x: X,
  axis?: A,
  keepDims = false,
): Reduced<X, A> {
  return reduce(Sum, x, toNumberInput, "sum", axis, keepDims) as Reduced<X, A>;
}

/**
 * Mean over axes; over all where none is given. Integers and booleans are taken as float32. TensorFlow op `Mean`.
 * Throws `ValueError` for an axis out of range, `TypeError` for strings.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.mean([[1, 2], [3, 4]], 1, true).arraySync(), [[1.5], [3.5]]);
 * ```
 */
export function mean<X extends Operand, A extends Axes = undefined>(
  x: X,
  axis?: A,
  keepDims = false,
): Reduced<X, A> {
  return reduce(Mean, x, measurable, "mean", axis, keepDims) as Reduced<X, A>;
}

/**
 * Product over axes; over all where none is given. Booleans count as int32; int32 wraps. TensorFlow op `Prod`.
 * The gradient is right where elements are zero. Throws `ValueError` for an axis out of range, `TypeError` for strings.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.prod([[1, 2], [3, 4]], 1).arraySync(), [2, 12]);
 * ```
 */
export function prod<X extends Operand, A extends Axes = undefined>(
  x: X,
  axis?: A,
  keepDims = false,
): Reduced<X, A> {
  return reduce(Prod, x, toNumberInput, "prod", axis, keepDims) as Reduced<X, A>;
}

/**
 * Greatest element over axes; over all where none is given. NaN wins. Booleans count as int32. TensorFlow op `Max`.
 * Several greatest elements share the gradient. Throws `ValueError` for an axis out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.max([[1, 4], [3, 2]], 1).arraySync(), [4, 3]);
 * ```
 */
export function max<X extends Operand, A extends Axes = undefined>(
  x: X,
  axis?: A,
  keepDims = false,
): Reduced<X, A> {
  return reduce(Max, x, toNumberInput, "max", axis, keepDims) as Reduced<X, A>;
}

/**
 * Least element over axes; over all where none is given. NaN wins. Booleans count as int32. TensorFlow op `Min`.
 * Several least elements share the gradient. Throws `ValueError` for an axis out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.min([[1, 4], [3, 2]], 1).arraySync(), [1, 2]);
 * ```
 */
export function min<X extends Operand, A extends Axes = undefined>(
  x: X,
  axis?: A,
  keepDims = false,
): Reduced<X, A> {
  return reduce(Min, x, toNumberInput, "min", axis, keepDims) as Reduced<X, A>;
}

/**
 * True where any element along the axes is true; over all where none is given. TensorFlow op `Any`.
 * Throws `TypeError` for tensors that are not bool.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.any([[true, false], [false, false]], 1).arraySync(), [true, false]);
 * ```
 */
export function any<X extends Operand, A extends Axes = undefined>(
  x: X,
  axis?: A,
  keepDims = false,
): Reduced<X, A> {
  return reduce(Any, x, truths, "any", axis, keepDims) as Reduced<X, A>;
}

/**
 * True where all elements along the axes are true; over all where none is given. TensorFlow op `All`.
 * Throws `TypeError` for tensors that are not bool.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * assertEquals(tf.all([[true, true], [true, false]], 1).arraySync(), [true, false]);
 * ```
 */
export function all<X extends Operand, A extends Axes = undefined>(
  x: X,
  axis?: A,
  keepDims = false,
): Reduced<X, A> {
  return reduce(All, x, truths, "all", axis, keepDims) as Reduced<X, A>;
}
