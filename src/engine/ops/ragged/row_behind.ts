/** Pads tensors of any rank by one row. */
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { range } from "../array/ranges.ts";
import { pad } from "../array/pad.ts";
import { reshape, shape } from "../array/view.ts";
import { mul } from "../pointwise/arithmetic.ts";
import { equal } from "../pointwise/compare.ts";
import { at } from "./splits.ts";

/** Appends a row of elements `value` to the tensor, whose rank may be unknown. */
export function withRowBehind(x: Tensor, value: TensorLike): Tensor {
  return pad(x, paddings(x), value);
}

/** Returns `[0, 1]` for the first axis, `[0, 0]` for the others. */
function paddings(x: Tensor): TensorLike {
  const rank = x.staticShape?.length;
  if (rank !== undefined) return Array.from({ length: rank }, (_, axis) => [0, axis === 0 ? 1 : 0]);
  const places = range(0, mul(at(shape(shape(x)), 0), 2), 1, "int32");
  return reshape(cast(equal(places, 1), "int32"), [-1, 2]);
}
