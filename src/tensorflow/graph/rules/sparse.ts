/** Rules for ops on sparse tensors, as several of Weft's differentiable ops. */
import { ValueError } from "../../../engine/core/errors.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import { joinSparse } from "../../../engine/ops/ragged/sparse_ops.ts";
import { type ImportedNode, intOf } from "../rule.ts";

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
