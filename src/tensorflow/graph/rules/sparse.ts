/** Rules for ops on sparse tensors, as several of Weft's differentiable ops. */
import { ValueError } from "../../../engine/core/errors.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import { cast } from "../../../engine/ops/array/cast.ts";
import { onesLike } from "../../../engine/ops/array/creation.ts";
import { gather } from "../../../engine/ops/array/gather.ts";
import { reshape } from "../../../engine/ops/array/view.ts";
import { div } from "../../../engine/ops/pointwise/arithmetic.ts";
import { maximum } from "../../../engine/ops/pointwise/select.ts";
import { joinSparse } from "../../../engine/ops/ragged/sparse_ops.ts";
import { type ImportedNode, type ImportRule, intOf, put1 } from "../rule.ts";

function rankOf(op: string, rank: number | null | undefined): number {
  if (rank != null) return rank;
  throw new ValueError(`Cannot import: ${op} of unknown rank`);
}

/** Joins sparse tensors along an axis, ordered by their places. */
export function sparseConcat({ inputs, attr }: ImportedNode): Tensor[] {
  const n = inputs.length / 3, extents = inputs.slice(2 * n);
  const rank = rankOf("SparseConcat", extents[0].staticShape?.[0] ?? inputs[0].staticShape?.[1]);
  const given = intOf(attr.concat_dim, 0), axis = given < 0 ? given + rank : given;
  if (!(axis >= 0 && axis < rank)) {
    throw new ValueError(`Cannot import: SparseConcat along axis ${given} of ${rank}`);
  }
  const parts = extents.map((dims, k) => [inputs[k], inputs[n + k], dims] as const);
  return [...joinSparse(parts, { axis, rank, check: false })];
}

/** Sums the rows of segments, divided by `divisor` of their counts. */
export function segments(divisor: ((count: Tensor) => Tensor) | null): ImportRule {
  return ({ inputs: [data, indices, ids, count] }) => {
    const total = (rows: Tensor): Tensor =>
      count === undefined
        ? put1("SegmentSum", [rows, ids])
        : put1("UnsortedSegmentSum", [rows, ids, cast(count, "int32")]);
    const sums = total(gather(data, indices));
    if (divisor === null) return [sums];
    const rank = rankOf("SparseSegment", data.staticShape?.length);
    const by = divisor(maximum(total(onesLike(cast(ids, data.dtype))), 1));
    return [div(sums, reshape(by, [-1, ...new Array<number>(rank - 1).fill(1)]))];
  };
}
