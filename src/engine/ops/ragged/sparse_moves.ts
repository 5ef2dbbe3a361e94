/** Moves of sparse tensors: added, permuted, split and reshaped dimensions, in the namespace `tf.sparse`. */
import { apply, compose, type OpInput } from "../../core/apply.ts";
import { wrongArgument } from "../../core/arguments.ts";
import { describe } from "../../core/convert.ts";
import { isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { compatible, isConcrete, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { zerosLike } from "../array/creation.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { range } from "../array/ranges.ts";
import { slice as sliceOf } from "../array/slice.ts";
import { identity, literalInts, size } from "../array/view.ts";
import { asTensor, castInput, intVector, shapeOfInput, toIndexInput } from "../input.ts";
import { add, floorDiv, mod, mul, sub } from "../pointwise/arithmetic.ts";
import { equal, less } from "../pointwise/compare.ts";
import { maximum, minimum, where } from "../pointwise/select.ts";
import { max } from "../reduce/reduce.ts";
import { sparseReshape } from "../host/sparse.ts";
import { type SparseLike, sparseOf, toSparse, wantWhole, wideParts } from "./sparse_input.ts";
import { SparseReorder, SparseSlice } from "./sparse_parts.ts";
import type { SparseTensor } from "./sparse_tensor.ts";
import { sameVector } from "./same_vector.ts";

/** Returns the columns of indices that have one behind them more, which stands before `axis`. */
function orderWith(rank: Tensor, axis: number): Tensor {
  const at = axis < 0 ? add(rank, axis + 1) : axis, each = range(0, add(rank, 1), 1, "int32");
  return where(less(each, at), each, where(equal(each, at), rank, sub(each, 1)));
}

/**
 * Inserts a dimension of extent 1 before `axis`, by default behind the last. Differentiable with respect to values.
 * Throws `TypeError` where `x` is no sparse tensor, `ValueError` for an axis out of range. Follows TensorFlow
 * `tf.sparse.expand_dims`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2]);
 * console.log(tf.sparse.expandDims(x, 1).shape); // [2, 1, 2]
 * ```
 */
export function expandDims(x: SparseLike, axis = -1): SparseTensor {
  const given = toSparse(x, "x", "expandDims"), rank = given.shape?.length;
  const isIn = Number.isInteger(axis) &&
    (rank === undefined || axis >= -rank - 1 && axis <= rank);
  if (!isIn) {
    throw new ValueError(
      `Cannot apply sparse.expandDims to ${given}: axis must be a whole number in [${
        -(rank ?? NaN) - 1
      }, ${rank}], received ${describe(axis)}`,
    );
  }
  return compose(() => {
    const at = rank === undefined ? null : axis < 0 ? axis + rank + 1 : axis;
    const columns = (_: unknown, i: number): number => i < at! ? i : i === at ? rank! : i - 1;
    const order = at === null
      ? orderWith(size(given.denseShape), axis)
      : asTensor(intVector(Array.from({ length: rank! + 1 }, columns)));
    const { indices, values, denseShape } = given;
    const column = zerosLike(sliceOf(indices, [0, 0], [-1, 1]));
    return sparseOf(
      gather(concat([indices, column], 1), order, 1),
      identity(values),
      gather(concat([denseShape, [1]]), order),
      at === null ? null : given.shape!.toSpliced(at, 0, 1),
    );
  });
}

/**
 * Permutes the dimensions of a sparse tensor, by default reverses them; the elements stand in the order of their new
 * indices. Differentiable with respect to values. Throws `TypeError` where `x` is no sparse tensor, `ValueError` where
 * `perm` is no permutation. Follows TensorFlow `tf.sparse.transpose`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 1], [1, 2]], [5, 6], [2, 3]);
 * console.log(tf.sparse.toDense(tf.sparse.transpose(x)).arraySync()); // [[0, 0], [5, 0], [0, 6]]
 * ```
 */
export function transpose(x: SparseLike, perm?: readonly number[]): SparseTensor {
  const given = toSparse(x, "x", "transpose"), known = given.shape;
  const rank = perm?.length ?? known?.length;
  const isWrong = perm !== undefined &&
    ((known !== null && perm.length !== known.length) ||
      perm.toSorted((a, b) => a - b).some((d, i) => d !== i));
  if (isWrong) {
    throw new ValueError(
      `Cannot apply sparse.transpose to ${given}: perm must be a permutation of its dimensions, received [${perm}]`,
    );
  }
  return compose(() => {
    const order = perm ?? Array.from({ length: rank ?? 0 }, (_, i) => rank! - 1 - i);
    const last = (): Tensor => sub(size(given.denseShape), 1);
    const by = rank === undefined ? range(last(), -1, -1, "int32") : asTensor(intVector(order));
    const dims = gather(given.denseShape, by);
    const [, values] = wideParts(given);
    const [indices, moved] = apply(SparseReorder, [
      cast(gather(given.indices, by, 1), "int64"),
      values,
      cast(dims, "int64"),
    ]);
    return sparseOf(indices, moved, dims, known && order.map((d) => known[d]));
  });
}

/**
 * Reshapes a sparse tensor; one dimension may be -1. Differentiable with respect to values. Throws `TypeError` where `x`
 * is no sparse tensor, `InvalidArgumentError` where the sizes differ. Follows TensorFlow `tf.sparse.reshape`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2]);
 * console.log(tf.sparse.reshape(x, [-1]).indices.arraySync()); // [[1], [2]]
 * ```
 */
export function reshape(x: SparseLike, newShape: TensorLike): SparseTensor {
  const given = toSparse(x, "x", "reshape");
  const to = toIndexInput(newShape, "newShape", "sparse.reshape");
  if (!isInteger(to.dtype)) {
    throw wrongArgument(newShape, "newShape", "sparse.reshape", "whole numbers");
  }
  return compose(() => {
    const [indices, values, dims] = wideParts(given);
    const moved = sparseReshape(indices, asTensor(dims), asTensor(castInput(to, "int64")));
    const known = literalInts(to), isWhole = known !== undefined && !known.includes(-1);
    return sparseOf(
      moved.outputIndices,
      identity(values),
      moved.outputShape,
      isWhole ? known : known?.map((d) => (d < 0 ? null : d)) ?? null,
    );
  });
}

/**
 * Gives a sparse tensor another dense shape, at least as large in each dimension; by default the smallest that holds its
 * elements. Throws `TypeError` where `x` is no sparse tensor, `ValueError` for a shape of another rank or known to be too
 * small, `InvalidArgumentError` for one found to be. Follows TensorFlow `tf.sparse.reset_shape`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [4, 4]);
 * console.log(tf.sparse.resetShape(x).denseShape.arraySync(), tf.sparse.resetShape(x, [4, 9]).shape); // [2, 2] [4, 9]
 * ```
 */
export function resetShape(x: SparseLike, newShape?: TensorLike): SparseTensor {
  const given = toSparse(x, "x", "resetShape"), { shape: known } = given;
  if (newShape === undefined) {
    return compose(() => {
      const { indices, values } = given;
      const dims = maximum(add(max(indices, 0), 1), 0);
      return sparseOf(identity(indices), identity(values), dims, known && known.map(() => null));
    });
  }
  const to = toIndexInput(newShape, "newShape", "sparse.resetShape"), literal = literalInts(to);
  const isSmall = literal !== undefined && known?.some((d, i) => d !== null && literal[i] < d);
  if (!isInteger(to.dtype) || isSmall || !compatible(shapeOfInput(to), [known?.length ?? null])) {
    throw new ValueError(
      `Cannot apply sparse.resetShape to ${given}: newShape must be as large in each dimension, received ${
        literal === undefined ? to : shapeText(literal)
      }`,
    );
  }
  return compose(() => {
    const { indices, values, denseShape } = given;
    const isChecked = literal !== undefined && isConcrete(known);
    const dims = isChecked ? intVector(literal) : largerShape(denseShape, castInput(to, "int32"));
    return sparseOf(identity(indices), identity(values), asTensor(dims), literal ?? null);
  });
}

/** Returns the new shape, checked when it is computed: equal to the larger of both in each dimension. */
function largerShape(from: Tensor, to: OpInput): Tensor {
  const wanted = maximum(from, asTensor(to));
  return sameVector(to, wanted, "Cannot reset the shape: wanted one as large, received");
}

/**
 * Splits a sparse tensor along an axis into `numSplit` parts, the first ones larger by one where the extent is no
 * multiple. Differentiable with respect to values. Throws `TypeError` where `x` is no sparse tensor, `ValueError` for an
 * axis out of range and a number of parts beyond the known extent. Follows TensorFlow `tf.sparse.split`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 1], [1, 2]], [5, 6], [2, 3]);
 * console.log(tf.sparse.split(x, 2, 1).map((part) => part.shape)); // [[2, 2], [2, 1]]
 * ```
 */
export function split(x: SparseLike, numSplit: number, axis = 0): SparseTensor[] {
  const given = toSparse(x, "x", "split"), known = given.shape, rank = known?.length;
  wantWhole(numSplit, "numSplit", "split", 1);
  if (rank === undefined) {
    throw new ValueError(`Cannot apply sparse.split to ${given}: the rank must be known`);
  }
  if (!(Number.isInteger(axis) && axis >= -rank && axis < rank)) {
    throw new ValueError(`Cannot apply sparse.split to ${given}: axis ${axis} is out of range`);
  }
  const at = axis < 0 ? axis + rank : axis, extent = known![at];
  if (extent !== null && numSplit > extent) {
    throw new ValueError(
      `Cannot apply sparse.split to ${given}: numSplit must be in [1, ${extent}], received ${numSplit}`,
    );
  }
  const along = intVector(Array.from({ length: rank }, (_, d) => Number(d === at)));
  const across = intVector(Array.from({ length: rank }, (_, d) => Number(d !== at)));
  return compose(() => {
    const parts = wideParts(given), dims = given.denseShape;
    const whole = extent ?? gather(dims, at);
    const least = floorDiv(whole, numSplit), more = mod(whole, numSplit);
    return Array.from({ length: numSplit }, (_, i) => {
      const sizeOf = add(least, cast(less(i, more), "int32"));
      const from = add(mul(i, least), minimum(i, more));
      const begin = mul(asTensor(along), from);
      const most = add(mul(asTensor(across), dims), mul(asTensor(along), sizeOf));
      const inputs = [...parts, cast(begin, "int64"), cast(most, "int64")];
      const [indices, values, box] = apply(SparseSlice, inputs);
      const own = extent === null
        ? null
        : Math.floor(extent / numSplit) + Number(i < extent % numSplit);
      return sparseOf(indices, values, box, known!.with(at, own));
    });
  });
}
