/** Reductions along axes: sum, mean, max, min, any, all. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { type GradContext, type GradRule, lookupOp, type OpDef } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import { isConcrete, normalizeAxes, sizeOf } from "../../core/shape.ts";
import type { Operand, Reduced } from "../../core/composite.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import { broadcastTo } from "../array/repeat.ts";
import { shape } from "../array/view.ts";
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
import { div, mul, toNumberInput } from "../pointwise/arithmetic.ts";
import { equal } from "../pointwise/compare.ts";
import type { Saved } from "../pointwise/define_pointwise.ts";
import { defineReduction, keepAxes, knownAxes } from "./define_reduction.ts";

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
  // By its name: pages that know all shapes need no products.
  const size = (s: TensorLike): Tensor =>
    cast(apply1(lookupOp("Prod")!, [asTensor(s as OpInput), intVector([0])]), dy.dtype);
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
export const Sum: OpDef = defineReduction("Sum", { op: "sum", grad: sumGrad });
export const Mean: OpDef = defineReduction("Mean", { op: "mean", grad: meanGrad });
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

/** Applies a reduction to a value that `convert` makes an input. */
export function reduce(
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
 * console.log(tf.sum([[1, 2], [3, 4]], 0).arraySync()); // [4, 6]
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
 * console.log(tf.mean([[1, 2], [3, 4]], 1, true).arraySync()); // [[1.5], [3.5]]
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
 * Greatest element over axes; over all where none is given. NaN wins. Booleans count as int32. TensorFlow op `Max`.
 * Several greatest elements share the gradient. Throws `ValueError` for an axis out of range.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.max([[1, 4], [3, 2]], 1).arraySync()); // [4, 3]
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
 * console.log(tf.min([[1, 4], [3, 2]], 1).arraySync()); // [1, 2]
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
 * console.log(tf.any([[true, false], [false, false]], 1).arraySync()); // [true, false]
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
 * console.log(tf.all([[true, true], [true, false]], 1).arraySync()); // [true, false]
 * ```
 */
export function all<X extends Operand, A extends Axes = undefined>(
  x: X,
  axis?: A,
  keepDims = false,
): Reduced<X, A> {
  return reduce(All, x, truths, "all", axis, keepDims) as Reduced<X, A>;
}
