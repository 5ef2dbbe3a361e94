/** Parts of ragged tensors: splits along even axes, and values at indices of several axes. */
import { apply, apply1, type OpInput } from "../../core/apply.ts";
import { noRule } from "../../core/composite.ts";
import { ValueError } from "../../core/errors.ts";
import type { Attrs, OpDef } from "../../core/op.ts";
import { normalizeAxis } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { concat } from "../array/join.ts";
import { slice } from "../array/slice.ts";
import { range } from "../array/ranges.ts";
import { reshape, shape as shapeOf } from "../array/view.ts";
import { asTensor, intScalar } from "../input.ts";
import { add, mul } from "../pointwise/arithmetic.ts";
import { type Input, isRagged, knownAxis, rowsOf, shapeOfAny } from "./ragged_class.ts";
import { picked } from "./ragged_gather.ts";
import type { RaggedTensor, RaggedValues } from "./ragged_tensor.ts";
import { at } from "./splits.ts";

/** Splits along an axis. Throws `ValueError` for a ragged one. `splits` applies the op to a dense tensor. */
export function splitAlong(
  def: OpDef,
  x: RaggedTensor,
  axis: number,
  splits: (x: OpInput, axis: OpInput) => OpInput[],
  attrs: Attrs,
): RaggedTensor[] {
  const rank = x.shape?.length, { raggedRank } = x;
  const along = rank === undefined ? knownAxis(def, x, axis) : normalizeAxis(axis, rank);
  const parts = (t: Tensor, axis: number): Tensor[] =>
    apply(def, splits(t, intScalar(axis)), attrs);
  if (along === 0) return parts(x.rowNumbers(), 0).map((rows) => x.gather(rows));
  if (along > raggedRank) {
    return parts(x.flatValues, along - raggedRank).map((t) => x.withFlatValues(t));
  }
  throw new ValueError(`Cannot apply ${def.name} to ${x}: axis ${axis} is ragged`);
}

/** Takes the values at indices, which are the last axis of `indices`. */
export function valuesAt(def: OpDef, table: Input, indices: Input): RaggedValues {
  const params = isRagged(table) ? table : asTensor(table as OpInput);
  if (isRagged(indices)) {
    if (indices.shape !== null && indices.shape.length === indices.raggedRank + 1) {
      throw new ValueError(
        `Cannot apply ${def.name} to ${indices}: its last axis must not be ragged`,
      );
    }
    const made = isRagged(params)
      ? valuesAt(def, params, indices.flatValues)
      : apply1(def, [params, indices.flatValues]);
    return indices.nestedRowSplits.reduceRight<RaggedValues>((inner, s) => rowsOf(inner, s), made);
  }
  const places = asTensor(indices as OpInput), shape = shapeOfAny(places), depth = shape?.at(-1);
  if (!isRagged(params) || shape === null || !depth) {
    throw noRule(
      def,
      params as RaggedTensor,
      "the rank and the last extent of indices must be known, and above 0",
    );
  }
  const flat = reshape(places, [-1, depth]);
  let made: RaggedValues = params;
  for (let k = 0; k < depth; k++) {
    const at = reshape(slice(flat, [0, k], [-1, 1]), [-1]);
    made = k === 0 ? picked([made, at], 0, 0) : picked([made, at], 1, 1);
  }
  return inDims(made, shapeOf(places), shape.length - 1);
}

/** Gives the first axis of values the first `rank` extents of `dims`. */
function inDims(values: RaggedValues, dims: Tensor, rank: number): RaggedValues {
  if (!isRagged(values)) {
    return reshape(values, concat([slice(dims, [0], [rank]), slice(shapeOf(values), [1])]));
  }
  if (rank === 0) return values.row(0);
  let made: RaggedValues = values;
  for (let d = rank - 1; d > 0; d--) {
    let count = at(dims, 0);
    for (let k = 1; k < d; k++) count = mul(count, at(dims, k));
    made = rowsOf(made, mul(range(0, add(count, 1), 1, "int32"), at(dims, d)));
  }
  return made;
}
