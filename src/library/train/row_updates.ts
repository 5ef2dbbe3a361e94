/**
 * Updates of the rows of a variable that a gradient names: they and their slots are gathered, updated together and
 * scattered back.
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

/** An update op and its operands beside the state and the gradient. */
interface RowUpdate {
  readonly update: OpDef;
  readonly scalars: readonly Tensor[];
  readonly attrs: Attrs;
}

/** Applies an update to rows of a variable and its slots. The gradients of repeated rows are summed. */
export function updateRows(
  state: readonly Variable[],
  { values, indices }: IndexedSlices,
  { update, scalars, attrs }: RowUpdate,
): (StepOperation | null)[] {
  const [v] = state;
  // Steps add up, so the table need not be read.
  if (update === ApplyGradientDescent) {
    return [v.scatterSub(new IndexedSlices(mul(values, scalars[0]), indices))];
  }
  const rows = state.map((s) => gather(s, indices));
  const next = apply(update, [...rows, ...scalars, sumRepeats(values, indices)], attrs);
  // Equal indices have equal rows here, so the order of writes does not matter.
  return state.map((s, i) => s.scatterUpdate(new IndexedSlices(next[i], indices)));
}
