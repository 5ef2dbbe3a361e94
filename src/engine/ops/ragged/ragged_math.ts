/** Running sums, softmax and matrix products of ragged tensors. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { lookupOp, type OpDef } from "../../core/op.ts";
import { normalizeAxis } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { slice } from "../array/slice.ts";
import { range } from "../array/ranges.ts";
import { reshape, shape as shapeOf, stopGradient } from "../array/view.ts";
import { asTensor, intScalar } from "../input.ts";
import { add, div, mul, sub } from "../pointwise/arithmetic.ts";
import { exp, log } from "../pointwise/exponential.ts";
import { maximum } from "../pointwise/select.ts";
import { max } from "../reduce/reduce.ts";
import { logSoftmax, softmax } from "../rows/softmax.ts";
import {
  type Input,
  isRagged,
  knownAxis,
  placesIn,
  rowsOf,
  rowsOfLengths,
  sameRows,
  shapeOfAny,
  withRaggedRank,
} from "./ragged_class.ts";
import type { RaggedTensor, RaggedValues } from "./ragged_tensor.ts";
import { sameVector } from "./same_vector.ts";
import { at, splitsFromLengths } from "./splits.ts";

/** Returns an axis counted from the front. */
function axisOf(def: OpDef, x: RaggedTensor, axis: number): number {
  const rank = x.shape?.length;
  return rank === undefined ? knownAxis(def, x, axis) : normalizeAxis(axis, rank);
}

/** Returns the innermost rows. */
function innermost(x: RaggedTensor): RaggedTensor {
  return isRagged(x.values) ? innermost(x.values) : x;
}

/** Takes the elements of a padded tensor that are those of ragged rows. */
function unpadded(dense: Tensor, like: RaggedTensor): RaggedTensor {
  const dims = shapeOf(dense), { raggedRank } = like;
  let rows: RaggedValues = like, place: Tensor | null = null;
  for (let level = 1; isRagged(rows); level++) {
    const ids = rows.valueRowIds(), row: Tensor = place === null ? ids : gather(place, ids);
    place = add(mul(row, at(dims, level)), placesIn(rows));
    rows = rows.values;
  }
  const flat = reshape(dense, concat([[-1], slice(dims, [raggedRank + 1])]));
  return like.withFlatValues(gather(flat, place!));
}

/** Running sums along an axis. Those of a ragged axis are each row's own, whatever the other rows hold. */
export function runningSums(
  def: OpDef,
  x: RaggedTensor,
  axis: number,
  attrs: Readonly<Record<string, unknown>>,
): RaggedTensor {
  const along = axisOf(def, x, axis), { raggedRank } = x;
  if (along > raggedRank) {
    return x.withFlatValues(apply1(def, [x.flatValues, intScalar(along - raggedRank)], attrs));
  }
  return unpadded(apply1(def, [x.toTensor(), intScalar(along)], attrs), x);
}

/** Softmax along an axis, or its logarithm. */
export function softmaxOf(def: OpDef, x: RaggedTensor, axis: number): RaggedTensor {
  const isLog = def.name === "LogSoftmax", of = isLog ? logSoftmax : softmax;
  const along = axisOf(def, x, axis), { raggedRank, flatValues } = x;
  if (along > raggedRank) return x.withFlatValues(of(flatValues, along - raggedRank));
  // What pads has no share.
  if (along < raggedRank) return unpadded(of(x.toTensor({ defaultValue: -Infinity }), along), x);
  const rows = innermost(x), ids = rows.valueRowIds(), count = rows.nrows();
  const each = (segments: string, values: Tensor): Tensor =>
    gather(apply1(lookupOp(segments)!, [values, ids, count]), ids);
  const below = sub(flatValues, stopGradient(each("UnsortedSegmentMax", flatValues)));
  const powers = exp(below), total = each("UnsortedSegmentSum", powers);
  return x.withFlatValues(isLog ? sub(below, log(total)) : div(powers, total));
}

/** One of a batch of matrices in each row: padded, with the extents of each. */
interface Batch {
  readonly dense: Tensor;
  readonly extents: readonly [rows: Tensor, columns: Tensor];
  /** True for extents that differ. */
  readonly varies: readonly [boolean, boolean];
}

const UNEVEN =
  "Cannot multiply ragged matrices whose rows differ in length: the lengths of rows and those wanted are";

/** Reads matrices `[n, (i), (j)]`. The run throws `InvalidArgumentError` for a matrix with rows of unequal lengths. */
function batchOf(x: RaggedValues): Batch {
  const dense = isRagged(x) ? x.toTensor() : x, dims = shapeOf(dense), n = at(dims, 0);
  const each = (extent: Tensor): Tensor => add(mul(range(0, n, 1, "int32"), 0), extent);
  if (!isRagged(x)) {
    return { dense, extents: [each(at(dims, 1)), each(at(dims, 2))], varies: [false, false] };
  }
  const rows = x.rowLengths();
  if (!isRagged(x.values)) {
    return { dense, extents: [rows, each(at(dims, 2))], varies: [true, false] };
  }
  const lengths = x.values.rowLengths(), ids = x.valueRowIds();
  const longest = maximum(apply1(lookupOp("UnsortedSegmentMax")!, [lengths, ids, n]), 0);
  const same = sameVector(gather(longest, ids), lengths, UNEVEN);
  // The check is part of what is read.
  const checked = add(longest, mul(max(concat([same, [0]])), 0));
  return { dense, extents: [rows, checked], varies: [true, true] };
}

/** Products of matrices of two operands of one rank, of which one is ragged. */
export function products(
  def: OpDef,
  operands: readonly Input[],
  transposed: readonly [boolean, boolean],
): RaggedValues {
  const [a, b] = operands.map((x) => isRagged(x) ? x : asTensor(x as OpInput)) as RaggedValues[];
  const ragged = [a, b].find(isRagged)!, ranks = [a, b].map((x) => shapeOfAny(x)?.length);
  const rank = ranks[0] ?? ranks[1];
  if (rank === undefined || ranks.some((r) => r !== undefined && r !== rank)) {
    throw new ValueError(
      `Cannot apply ${def.name} to ${a} and ${b}: wanted operands of one known rank`,
    );
  }
  if (rank > 3) {
    const [x, y] = [a, b].map((v) => withRaggedRank(v, 1));
    const splits = x.rowSplits === y.rowSplits ? x.rowSplits : sameRows(x.rowSplits, y.rowSplits);
    const inner = [x.values, y.values];
    const made = inner.some(isRagged)
      ? products(def, inner, transposed)
      : multiplied(inner as Tensor[], transposed);
    return rowsOf(made, splits);
  }
  if (rank === 2) {
    const [x, y] = [a, b].map((v) => isRagged(v) ? matrixOf(v) : v);
    return multiplied([x, y], transposed);
  }
  const [x, y] = [a, b].map(batchOf), [tx, ty] = transposed.map(Number);
  const inner = sameVector(
    x.extents[1 - tx],
    y.extents[ty],
    `Cannot apply ${def.name} to ${ragged}: the inner extents of its matrices and of those beside them are`,
  );
  const first = mul(at(inner, 0), 0);
  const rows = add(x.extents[tx], first), columns = y.extents[1 - ty];
  const dense = multiplied([x.dense, y.dense], transposed);
  const like = rowsOfLengths(range(0, max(splitsFromLengths(rows)), 1, "int32"), rows);
  if (!y.varies[1 - ty]) return unpadded(dense, like);
  const lengths = gather(columns, like.valueRowIds());
  const values = range(0, max(splitsFromLengths(lengths)), 1, "int32");
  return unpadded(dense, rowsOf(rowsOfLengths(values, lengths), like.rowSplits));
}

function multiplied(
  [x, y]: readonly Tensor[],
  [adj_x, adj_y]: readonly [boolean, boolean],
): Tensor {
  return apply1(lookupOp("BatchMatMulV2")!, [x, y], { adj_x, adj_y });
}

/** Returns the one matrix of ragged rows of equal lengths. */
function matrixOf(x: RaggedTensor): Tensor {
  const dense = x.toTensor(), lengths = x.rowLengths();
  const wanted = add(mul(lengths, 0), at(shapeOf(dense), 1));
  const same = sameVector(lengths, wanted, UNEVEN);
  const columns = max(concat([same, [0]]));
  return apply1(lookupOp("Reshape")!, [
    dense,
    concat([reshape(x.nrows(), [1]), reshape(columns, [1])]),
  ]);
}
