/**
 * Updates of the rows of a variable that a gradient names: they and their slots are picked, updated together and put back.
 */
import { apply } from "../../engine/core/apply.ts";
import type { Attrs, OpDef } from "../../engine/core/op.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { gather } from "../../engine/ops/array/gather.ts";
import { IndexedSlices } from "../../engine/ops/array/indexed_slices.ts";
import { mul } from "../../engine/ops/pointwise/arithmetic.ts";
import { ApplyGradientDescent } from "../../engine/ops/state/optimizer_updates.ts";
import { sumRepeats } from "../../engine/ops/state/scatter_rows.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";
import type { StepOperation } from "./step_graph.ts";

/** An update op and what it takes beside the state and the gradient. */
interface RowUpdate {
  readonly update: OpDef;
  readonly scalars: readonly Tensor[];
  readonly attrs: Attrs;
}

/** Applies an update to rows of a variable and its slots. Rows that are named more than once have the sum of their gradients. */
export function updateRows(
  state: readonly Variable[],
  { values, indices }: IndexedSlices,
  { update, scalars, attrs }: RowUpdate,
): (StepOperation | null)[] {
  const [v] = state;
  // Steps add up: nothing of the table has to be read for them.
  if (update === ApplyGradientDescent) {
    return [v.scatterSub(new IndexedSlices(mul(values, scalars[0]), indices))];
  }
  const rows = state.map((s) => gather(s, indices));
  const next = apply(update, [...rows, ...scalars, sumRepeats(values, indices)], attrs);
  // Equal indices have equal rows now: it does not matter which of them is written last.
  return state.map((s, i) => s.scatterUpdate(new IndexedSlices(next[i], indices)));
}
