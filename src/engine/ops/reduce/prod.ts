/** The product along axes. */
import { apply, apply1, type OpInput } from "../../core/apply.ts";
import type { Operand, Reduced } from "../../core/composite.ts";
import { type GradContext, type GradRule, lookupOp, type OpDef } from "../../core/op.ts";
import { normalizeAxes } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { concat, stack } from "../array/join.ts";
import { reshape, size } from "../array/view.ts";
import { asTensor, intScalar, intVector } from "../input.ts";
import { conjugate, mod, mul, toNumberInput } from "../pointwise/arithmetic.ts";
import type { Saved } from "../pointwise/define_pointwise.ts";
import { defineReduction, keepAxes, knownAxes } from "./define_reduction.ts";
import { type Axes, reduce } from "./reduce.ts";
import { othersProduct } from "./scan.ts";

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

export const Prod: OpDef = defineReduction("Prod", { op: "prod", grad: prodGrad });

/**
 * Product over axes; over all where none is given. Booleans count as int32; int32 wraps. TensorFlow op `Prod`.
 * The gradient is right where elements are zero. Throws `ValueError` for an axis out of range, `TypeError` for strings.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.prod([[1, 2], [3, 4]], 1).arraySync()); // [2, 12]
 * ```
 */
export function prod<X extends Operand, A extends Axes = undefined>(
  x: X,
  axis?: A,
  keepDims = false,
): Reduced<X, A> {
  return reduce(Prod, x, toNumberInput, "prod", axis, keepDims) as Reduced<X, A>;
}
