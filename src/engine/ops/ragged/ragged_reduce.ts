/** Reductions of ragged tensors over any axes. */
import { apply1 } from "../../core/apply.ts";
import { UnimplementedError } from "../../core/errors.ts";
import { type Attrs, lookupOp, type OpDef } from "../../core/op.ts";
import { normalizeAxes } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { onesLike } from "../array/creation.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { reshape } from "../array/view.ts";
import { asTensor, intVector } from "../input.ts";
import { add, div } from "../pointwise/arithmetic.ts";
import { equal, notEqual } from "../pointwise/compare.ts";
import { logicalNot } from "../pointwise/logical.ts";
import { maximum } from "../pointwise/select.ts";
import { max } from "../reduce/reduce.ts";
import { expandedAt } from "./ragged_moves.ts";
import { isRagged, knownAxis, placesIn, rowsOf } from "./ragged_class.ts";
import type { RaggedTensor, RaggedValues } from "./ragged_tensor.ts";
import { begins, splitsFromLengths } from "./splits.ts";

const SEGMENTS: Readonly<Record<string, string>> = {
  Sum: "UnsortedSegmentSum",
  Prod: "UnsortedSegmentProd",
  Max: "UnsortedSegmentMax",
  Min: "UnsortedSegmentMin",
  ReduceJoin: "UnsortedSegmentJoin",
};

/** A reduction: whether axes stay, and attributes that the op and that of segments share. */
interface Reduction {
  readonly keep: boolean;
  readonly attrs?: Attrs;
}

/** Reduces over axes, beginning with the last; over all axes if they are null. */
export function reduced(
  def: OpDef,
  x: RaggedTensor,
  axes: readonly number[] | null,
  how: Reduction,
): RaggedValues {
  const rank = x.shape?.length, { keep, attrs } = how;
  if (!keep && (axes === null || axes.length === rank)) {
    return apply1(def, [reshape(x.flatValues, [-1]), intVector([0])], attrs);
  }
  const over = rank === undefined
    ? axes?.map((a) => knownAxis(def, x, a))
    : normalizeAxes(axes, rank);
  if (over === undefined) {
    throw new UnimplementedError(
      `Cannot apply ${def.name} to ${x} and keep its axes: its rank is unknown`,
      { op: def.name },
    );
  }
  if (def.name === "Mean") {
    const sum = lookupOp("Sum")!, ones = x.withFlatValues(onesLike(x.flatValues));
    const total = reduced(sum, x, over, how), count = reduced(sum, ones, over, how);
    if (total instanceof Tensor) return div(total, count as Tensor);
    return total.withFlatValues(div(total.flatValues, (count as RaggedTensor).flatValues));
  }
  return over.toSorted((a, b) => b - a).reduce<RaggedValues>(
    (result, axis) => along(def, result, axis, how),
    x,
  );
}

function along(def: OpDef, x: RaggedValues, axis: number, how: Reduction): RaggedValues {
  const { keep, attrs } = how;
  if (x instanceof Tensor) {
    return apply1(def, [x, intVector([axis])], { ...attrs, keep_dims: keep });
  }
  if (axis > 1) return rowsOf(along(def, x.values, axis - 1, how), x.rowSplits);
  const count = axis === 1 ? x.nrows() : max(concat([x.rowLengths(), [0]]));
  const ids = axis === 1 ? x.valueRowIds() : placesIn(x);
  const all = segments(def, x.values, { ids, count, attrs });
  return keep ? expandedAt(all, axis) : all;
}

/** Reduces the rows of values with equal ids to one row. */
function segments(
  def: OpDef,
  values: RaggedValues,
  { ids, count, attrs }: {
    readonly ids: Tensor;
    readonly count: Tensor;
    readonly attrs: Attrs | undefined;
  },
): RaggedValues {
  if (isRagged(values)) {
    // A row is as long as the longest of its sources.
    const longest = apply1(lookupOp("UnsortedSegmentMax")!, [values.rowLengths(), ids, count]);
    const splits = asTensor(splitsFromLengths(maximum(longest, 0)));
    const row = gather(gather(begins(splits), ids), values.valueRowIds());
    const places = add(row, placesIn(values));
    return rowsOf(segments(def, values.values, { ids: places, count: max(splits), attrs }), splits);
  }
  const counted = (x: Tensor): Tensor =>
    apply1(lookupOp("UnsortedSegmentSum")!, [cast(x, "int32"), ids, count]);
  if (def.name === "Any") return notEqual(counted(values), 0);
  if (def.name === "All") return equal(counted(logicalNot(values)), 0);
  const segment = lookupOp(SEGMENTS[def.name] ?? "");
  if (segment !== undefined) return apply1(segment, [values, ids, count], attrs);
  throw new UnimplementedError(`Cannot apply ${def.name} to rows of a ragged tensor`, {
    op: def.name,
  });
}
