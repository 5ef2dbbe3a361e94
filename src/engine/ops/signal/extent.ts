/** Dimensions that gradients of transforms divide by. */
import type { OpInput } from "../../core/apply.ts";
import type { GradContext } from "../../core/op.ts";
import type { Tensor } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { slice } from "../array/slice.ts";
import { shape } from "../array/view.ts";
import { asTensor } from "../input.ts";
import { sub } from "../pointwise/arithmetic.ts";

/** Returns a dimension of an input, counted from the end: a number if known, else a tensor in the dtype of `like`. */
export function extentOf(ctx: GradContext, axis: number, like: Tensor): number | Tensor {
  const known = ctx.inputs[0].shape?.at(axis);
  if (typeof known === "number") return known;
  const all = asTensor(ctx.shapeOf(0) as OpInput);
  return cast(slice(all, sub(shape(all), -axis), [1]), like.dtype);
}
