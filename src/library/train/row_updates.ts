/** The rows of a variable that a gradient names: they and their slots are gathered, updated together and scattered back. */
import type { Tensor } from "../../engine/core/tensor.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { onesLike } from "../../engine/ops/array/creation.ts";
import { gather } from "../../engine/ops/array/gather.ts";
import { IndexedSlices } from "../../engine/ops/array/indexed_slices.ts";
import { reshape } from "../../engine/ops/array/view.ts";
import { div, mul } from "../../engine/ops/pointwise/arithmetic.ts";
import { sumRepeats } from "../../engine/ops/state/scatter_rows.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";
import type { StepOperation } from "./step_graph.ts";

/** Subtracts the gradient times the rate from the rows it names. */
export function descendRows(
  v: Variable,
  { values, indices }: IndexedSlices,
  rate: Tensor,
): StepOperation | null {
  return v.scatterSub(new IndexedSlices(mul(values, rate), indices));
}

/** Returns the named rows. */
export function rowsOf(v: Variable, { indices }: IndexedSlices): Tensor {
  return gather(v, indices);
}

/** Returns the gradient of each named row: the sum of those that name it. */
export function gradientOfRows({ values, indices }: IndexedSlices): Tensor {
  return sumRepeats(values, indices);
}

/** Returns one over the number of times that each row is named, with the rank of the rows. */
export function sharesOfRows({ values, indices }: IndexedSlices): Tensor {
  const times = sumRepeats(cast(onesLike(indices), values.dtype), indices);
  return reshape(div(1, times), [-1, ...Array.from({ length: values.rank - 1 }, () => 1)]);
}

/** Replaces the named rows. Equal indices have equal rows, so the order of writes does not matter. */
export function writeRows(
  v: Variable,
  rows: Tensor,
  { indices }: IndexedSlices,
): StepOperation | null {
  return v.scatterUpdate(new IndexedSlices(rows, indices));
}
