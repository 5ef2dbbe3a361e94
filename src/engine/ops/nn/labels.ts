/** Functions of labels in the namespace `tf.nn`, beside `tf.ctcLoss`. */
import { compose, type OpInput } from "../../core/apply.ts";
import { isInteger } from "../../core/dtype.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { zerosLike } from "../array/creation.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { pad } from "../array/pad.ts";
import { range } from "../array/ranges.ts";
import { scatterND } from "../array/scatter.ts";
import { slice } from "../array/slice.ts";
import { expandDims, reshape, shape } from "../array/view.ts";
import { asTensor, intVector, shapeOfInput, toIndexInput, wantArgument } from "../input.ts";
import { add, mul } from "../pointwise/arithmetic.ts";
import { equal, less, notEqual } from "../pointwise/compare.ts";
import { logicalAnd, logicalOr } from "../pointwise/logical.ts";
import { where } from "../pointwise/select.ts";
import { argMax } from "../reduce/arg_reduce.ts";
import { max, sum } from "../reduce/reduce.ts";
import { cumsum } from "../reduce/scan.ts";

function labelsOf(labels: TensorLike, fn: string): Tensor {
  const input = toIndexInput(labels, "labels", fn);
  if (!isInteger(input.dtype)) {
    throw new TypeError(`Cannot use ${input.dtype} as labels of ${fn}: wanted whole numbers`);
  }
  wantArgument(input, 2, fn, "labels");
  return asTensor(input);
}

const extent = (x: Tensor, axis: number): OpInput => {
  const known = shapeOfInput(x)?.[axis];
  return known === undefined || known === null ? slice(shape(x), [axis], [1]) : intVector([known]);
};

/** Returns the numbers from 0 to below an extent. */
const places = (n: OpInput): Tensor => range(0, reshape(n, []), 1, "int32");

/** Moves labels to the places of their rows that `at` says, where `kept`; zeros are behind them. */
function moved(labels: Tensor, at: Tensor, kept: Tensor): Tensor {
  const rows = extent(labels, 0), width = extent(labels, 1), total = mul(asTensor(rows), width);
  const first = expandDims(mul(places(rows), width), 1);
  // One place more takes what is dropped.
  const flat = reshape(where(kept, add(first, at), total), [-1, 1]);
  const all = scatterND(
    flat,
    where(reshape(kept, [-1]), reshape(labels, [-1]), reshape(zerosLike(labels), [-1])),
    add(total, 1),
  );
  return reshape(slice(all, [0], total), concat([rows, width]));
}

/**
 * The different labels of each row of a batch `[batch, width]`, in the order in which they come first and with zeros behind, and for
 * each label its place, int32: `tf.unique` of each row. Throws `ValueError` for another rank, `TypeError` for other dtypes than integers. Follows
 * TensorFlow `tf.nn.ctc_unique_labels`, which gives int64.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [unique, places] = tf.nn.ctcUniqueLabels([[3, 4, 4, 3]]);
 * console.log(unique.arraySync(), places.arraySync()); // [[3, 4, 0, 0]] [[0, 1, 1, 0]]
 * ```
 */
export function ctcUniqueLabels(labels: TensorLike): [unique: Tensor, indices: Tensor] {
  return compose(() => {
    const given = labelsOf(labels, "ctcUniqueLabels"), own = places(extent(given, 1));
    const isSame = equal(expandDims(given, 1), expandDims(given, 2));
    const first = argMax(cast(isSame, "int32"), 2), isFirst = equal(first, own);
    const rank = cumsum(cast(isFirst, "int32"), 1, true);
    return [moved(given, rank, isFirst), gather(rank, first, 1, 1)];
  });
}

/**
 * Merges neighbours that are equal in each row of a batch `[batch, width]` of labels, of which `seqLength` count, and returns them with
 * their new lengths; rows are as wide as the longest, with zeros behind. Throws `ValueError` for another rank, `TypeError` for other
 * dtypes than integers. Follows TensorFlow `tf.nn.collapse_repeated`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [merged, lengths] = tf.nn.collapseRepeated([[1, 1, 2, 2, 1], [1, 2, 3, 4, 5]], [5, 3]);
 * console.log(merged.arraySync(), lengths.arraySync()); // [[1, 2, 1], [1, 2, 3]] [3, 3]
 * ```
 */
export function collapseRepeated(
  labels: TensorLike,
  seqLength: TensorLike,
): [labels: Tensor, seqLength: Tensor] {
  return compose(() => {
    const fn = "collapseRepeated", given = labelsOf(labels, fn);
    const lengths = asTensor(toIndexInput(seqLength, "seqLength", fn));
    wantArgument(lengths, 1, fn, "seqLength");
    const width = extent(given, 1), at = places(width);
    const before = slice(pad(given, [[0, 0], [1, 0]]), [0, 0], concat([intVector([-1]), width]));
    const isNew = logicalOr(equal(at, 0), notEqual(given, before));
    const isThere = less(at, expandDims(cast(lengths, "int32"), 1));
    const kept = logicalAnd(isNew, isThere), count = cast(kept, "int32");
    const counts = sum(count, 1);
    const wide = moved(given, cumsum(count, 1, true), kept);
    const most = reshape(max(concat([counts, intVector([0])])), [1]);
    return [
      slice(wide, [0, 0], concat([intVector([-1]), most])),
      cast(counts, lengths.dtype),
    ];
  });
}
