/** Extents that are known, or are read when a graph runs. */
import type { Tensor, TensorLike } from "../core/tensor.ts";
import { asTensor, intScalar } from "./input.ts";
import { gather } from "./array/gather.ts";
import { stack } from "./array/join.ts";
import { shape } from "./array/view.ts";

/** An extent: a number where it is known, else an int32 scalar. */
export type Extent = number | Tensor;

/** The extent of an axis from 0 on, of a tensor of known rank. */
export function extentAt(x: Tensor, axis: number): Extent {
  return x.staticShape?.[axis] ?? gather(shape(x), axis) as Tensor;
}

/** A list of numbers, or the vector of extents. */
export function vector(list: readonly Extent[]): TensorLike {
  if (list.every((n) => typeof n === "number")) return list as number[];
  return stack(list.map((n) => typeof n === "number" ? asTensor(intScalar(n)) : n));
}
