/** Segments as row splits and back, parts of tensors as rows, and crosses of rows, in the namespace `tf.ragged`. */
import { wantList } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { compatible, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { range } from "../array/ranges.ts";
import { repeat } from "../array/sequences.ts";
import { unsortedSegmentSum } from "../array/segment.ts";
import { slice } from "../array/slice.ts";
import { onesLike } from "../array/creation.ts";
import { expandDims, reshape, shape } from "../array/view.ts";
import { sparseFillEmptyRows } from "../host/sparse.ts";
import {
  asTensor,
  castInput,
  intVector,
  shapeOfInput,
  toIndexInput,
  toInput,
  wantArgument,
} from "../input.ts";
import { add, sub } from "../pointwise/arithmetic.ts";
import { max } from "../reduce/reduce.ts";
import { cumsum } from "../reduce/scan.ts";
import { argsort } from "../reduce/topk.ts";
import { isRagged } from "./ragged_class.ts";
import { RaggedTensor } from "./ragged_tensor.ts";
import { cross as crossOfSparse, crossHashed as hashedOfSparse } from "./sparse_cross.ts";
import type { CrossHashedOptions } from "./sparse_cross.ts";
import { isSparse, type SparseLike } from "./sparse_input.ts";
import { sparseRows } from "./sparse_rows_of.ts";
import type { SparseTensor } from "./sparse_tensor.ts";

function wholeVector(x: TensorLike, arg: string, fn: string): Tensor {
  const input = toIndexInput(x, arg, fn);
  if (!isInteger(input.dtype)) {
    throw new TypeError(`Cannot use ${input.dtype} as ${arg} of ${fn}: wanted whole numbers`);
  }
  wantArgument(input, 1, fn, arg);
  return asTensor(input);
}

/**
 * The number of the row of each value, of rows that begin where `splits` say. Of the splits' dtype. Throws `TypeError` for other dtypes than
 * integers, `ValueError` for what is no vector. Follows TensorFlow `tf.ragged.row_splits_to_segment_ids`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.ragged.rowSplitsToSegmentIds([0, 3, 3, 5]).arraySync()); // [0, 0, 0, 2, 2]
 * ```
 */
export function rowSplitsToSegmentIds(splits: TensorLike): Tensor {
  return compose(() => {
    const ends = wholeVector(splits, "splits", "ragged.rowSplitsToSegmentIds");
    const known = shapeOfInput(ends)?.[0];
    if (known === 0) {
      throw new ValueError("Cannot apply ragged.rowSplitsToSegmentIds: splits may not be empty");
    }
    const own = cast(ends, "int32"), rows = sub(shape(own), 1);
    const lengths = sub(slice(own, [1], rows), slice(own, [0], rows));
    return cast(repeat(range(0, reshape(rows, []), 1, "int32"), lengths), ends.dtype);
  });
}

/**
 * The places where rows begin, and the last one ends, of values whose rows have rising numbers: the inverse of {@linkcode rowSplitsToSegmentIds}. There
 * are `numSegments` rows, or as many as the last number says. Of the ids' dtype. Throws `TypeError` for other dtypes than integers,
 * `ValueError` for what is no vector. Follows TensorFlow `tf.ragged.segment_ids_to_row_splits`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.ragged.segmentIdsToRowSplits([0, 0, 0, 2, 2]).arraySync()); // [0, 3, 3, 5]
 * ```
 */
export function segmentIdsToRowSplits(
  segmentIds: TensorLike,
  numSegments?: TensorLike | null,
): Tensor {
  return compose(() => {
    const fn = "ragged.segmentIdsToRowSplits", ids = wholeVector(segmentIds, "segmentIds", fn);
    const own = cast(ids, "int32");
    const count = numSegments === undefined || numSegments === null
      ? max(concat([add(own, 1), intVector([0])]))
      : cast(asTensor(toIndexInput(numSegments, "numSegments", fn)), "int32");
    const lengths = unsortedSegmentSum(onesLike(own), own, reshape(count, []));
    return cast(concat([intVector([0]), cumsum(lengths)]), ids.dtype);
  });
}

/**
 * Puts each part of `data` into the row whose number stands at its place in `partitions`, in their order: a ragged tensor of
 * `numPartitions` rows. `data` begins with the shape of `partitions`. Throws `ValueError` where the shapes do not fit, `TypeError` for
 * other numbers than whole ones. Follows TensorFlow `tf.ragged.stack_dynamic_partitions`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const rows = tf.ragged.stackDynamicPartitions([10, 20, 30, 40], [2, 0, 2, 1], 3);
 * console.log(rows.toList()); // [[20], [40], [10, 30]]
 * ```
 */
export function stackDynamicPartitions(
  data: TensorLike,
  partitions: TensorLike,
  numPartitions: TensorLike,
): RaggedTensor {
  return compose(() => {
    const fn = "ragged.stackDynamicPartitions", x = asTensor(toInput(data, "data", fn));
    const at = asTensor(toIndexInput(partitions, "partitions", fn));
    if (!isInteger(at.dtype)) {
      throw new TypeError(`Cannot use ${at.dtype} as partitions of ${fn}: wanted whole numbers`);
    }
    const outer = shapeOfInput(at), whole = shapeOfInput(x);
    if (outer === null) {
      throw new ValueError(`Cannot apply ${fn}: the rank of partitions is unknown`);
    }
    if (whole !== null && !compatible(whole.slice(0, outer.length), outer)) {
      throw new ValueError(
        `Cannot apply ${fn}: data must begin with the shape of partitions ${
          shapeText(outer)
        }, received ${shapeText(whole)}`,
      );
    }
    const inner = slice(shape(x), [outer.length]), flat = reshape(cast(at, "int32"), [-1]);
    const order = argsort(flat), rows = reshape(x, concat([intVector([-1]), inner]));
    return RaggedTensor.fromRowSplits(
      gather(rows, order),
      segmentIdsToRowSplits(gather(flat, order), numPartitions),
    );
  });
}

/** A feature that is crossed: rows of strings or whole numbers. */
export type CrossedRows = TensorLike | SparseLike | RaggedTensor;

/** Returns features as sparse matrices, which are crossed in their order: dense ones would come last. */
function featuresOf(inputs: readonly CrossedRows[], fn: string): SparseTensor[] {
  wantList(inputs, "inputs", fn, "tensors");
  return inputs.map((x, i) => {
    if (isRagged(x) || isSparse(x)) return sparseRows(x as SparseLike);
    const dense = toInput(x as TensorLike, `inputs[${i}]`, fn);
    wantArgument(dense, 2, fn, `inputs[${i}]`);
    return sparseRows(RaggedTensor.fromTensor(asTensor(dense)));
  });
}

/** Returns the rows of a sparse matrix. */
function rowsOfSparse({ indices, values, denseShape }: SparseTensor): RaggedTensor {
  const ids = reshape(slice(indices, [0, 0], [-1, 1]), [-1]);
  return RaggedTensor.fromRowSplits(
    values,
    segmentIdsToRowSplits(cast(ids, "int32"), reshape(slice(denseShape, [0], [1]), [])),
  );
}

/**
 * All combinations of the features of each row, joined by `"_X_"`: a ragged tensor of strings. Features are strings or whole numbers, in
 * ragged, sparse or dense tensors of as many rows. Throws `TypeError` for other features, `ValueError` for other ranks. Follows TensorFlow
 * `tf.ragged.cross`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const a = tf.ragged.constant([["a"], ["b", "c"]]), b = tf.ragged.constant([["d"], ["e"]]);
 * console.log(tf.ragged.cross([a, b]).toList()); // [["a_X_d"], ["b_X_e", "c_X_e"]]
 * ```
 */
export function cross(inputs: readonly CrossedRows[]): RaggedTensor {
  return compose(() => rowsOfSparse(crossOfSparse(featuresOf(inputs, "ragged.cross"))));
}

/**
 * As {@linkcode cross}, with hashes of the combinations, int64, below `numBuckets` where that is not 0. Throws as that does. Follows TensorFlow
 * `tf.ragged.cross_hashed`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const a = tf.ragged.constant([["a"], ["b", "c"]]), b = tf.ragged.constant([["d"], ["e"]]);
 * console.log(tf.ragged.crossHashed([a, b], { numBuckets: 1 }).toList()); // [[0n], [0n, 0n]]
 * ```
 */
export function crossHashed(
  inputs: readonly CrossedRows[],
  options: CrossHashedOptions = {},
): RaggedTensor {
  return compose(() =>
    rowsOfSparse(hashedOfSparse(featuresOf(inputs, "ragged.crossHashed"), options))
  );
}

/**
 * Gives each of `nrows` rows without values one, `defaultValue`; rows are told by the number of the row of each value, `valueRowids`. Returns
 * the numbers of the rows and the values, true for the rows that were empty, and the new place of each given value. Differentiable with
 * respect to values and the default. Throws `TypeError` for numbers that are no integers, `ValueError` for other shapes,
 * `InvalidArgumentError` for a number out of range. Follows TensorFlow `tf.ragged_fill_empty_rows`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [rowids, values] = tf.raggedFillEmptyRows([0, 2], [5, 6], 3, -1);
 * console.log(rowids.arraySync(), values.arraySync()); // [0, 1, 2] [5, -1, 6]
 * ```
 */
export function raggedFillEmptyRows(
  valueRowids: TensorLike,
  values: TensorLike,
  nrows: TensorLike,
  defaultValue: TensorLike,
): [
  outputValueRowids: Tensor,
  outputValues: Tensor,
  emptyRowIndicator: Tensor,
  reverseIndexMap: Tensor,
] {
  return compose(() => {
    const fn = "raggedFillEmptyRows", ids = wholeVector(valueRowids, "valueRowids", fn);
    const count = toIndexInput(nrows, "nrows", fn);
    wantArgument(count, 0, fn, "nrows");
    const dims = reshape(asTensor(castInput(count, ids.dtype)), [1]);
    const out = sparseFillEmptyRows(expandDims(ids, 1), values, dims, defaultValue);
    const { outputIndices, outputValues, emptyRowIndicator, reverseIndexMap } = out;
    return [reshape(outputIndices, [-1]), outputValues, emptyRowIndicator, reverseIndexMap];
  });
}
