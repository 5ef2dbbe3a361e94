/** The namespace `tf.sparse`: functions of sparse tensors, and those of their indices, values and shapes. */
import { wantBoolean } from "../../core/arguments.ts";
import { apply, apply1, compose } from "../../core/apply.ts";
import { describe } from "../../core/convert.ts";
import { isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { partOf } from "../../core/scalar/operations.ts";
import {
  compatible,
  isConcrete,
  mergeShapes,
  normalizeAxes,
  type PartialShape,
  shapeText,
} from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { cast } from "../array/cast.ts";
import { gather } from "../array/gather.ts";
import { stack } from "../array/join.ts";
import { transpose } from "../array/move.ts";
import { identity, literalInts, reshape } from "../array/view.ts";
import {
  asTensor,
  castInput,
  intVector,
  shapeOfInput,
  toDenseInput,
  toIndexInput,
  wantArgument,
} from "../input.ts";
import { where } from "../pointwise/select.ts";
import { max } from "../reduce/reduce.ts";
import { checkedIndices } from "./sparse_check.ts";
import { joinSparse, SparseTensorDenseAdd, SparseTensorDenseMatMul } from "./sparse_ops.ts";
import { SparseAdd, SparseReorder, SparseSlice } from "./sparse_parts.ts";
import {
  isSparse,
  type SparseLike,
  sparseOf,
  toSparse,
  wideParts,
  wideShape,
} from "./sparse_input.ts";
import type { SparseTensor } from "./sparse_tensor.ts";

export * from "../host/sparse.ts";
export * from "../host/sparse_segments.ts";
export * from "./sparse_count.ts";
export * from "./sparse_cross.ts";
export * from "./sparse_dense.ts";
export * from "./sparse_folds.ts";
export * from "./sparse_makers.ts";
export * from "./sparse_moves.ts";
export type { SparseLike } from "./sparse_input.ts";

/**
 * Sorts the elements of a sparse tensor by their indices, as other functions require. Differentiable with respect to
 * values. Throws `TypeError` where `x` is no sparse tensor. Follows TensorFlow `tf.sparse.reorder`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[1, 0], [0, 1]], [6, 5], [2, 2]);
 * console.log(tf.sparse.reorder(x).values.arraySync()); // [5, 6]
 * ```
 */
export function reorder(x: SparseLike): SparseTensor {
  const given = toSparse(x, "x", "reorder");
  return compose(() => {
    const [indices, values] = apply(SparseReorder, wideParts(given));
    return sparseOf(indices, values, identity(given.denseShape), given.shape);
  });
}

/**
 * Multiplies a sparse matrix of shape `[m, k]` by a dense one of shape `[k, n]`, or a dense by a sparse one, to a dense
 * matrix of shape `[m, n]`. With a flag the operand's adjoint is multiplied: its transpose, conjugated for complex
 * numbers. Repeated indices are added. Differentiable with respect to values and the dense matrix. Throws `TypeError`
 * where neither or both are sparse or the dtypes differ, `ValueError` for shapes that do not fit, and on the CPU
 * `InvalidArgumentError` for an index out of range. Follows TensorFlow `tf.sparse.sparse_dense_matmul`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2]);
 * console.log(tf.sparse.matMul(x, [[1, 2], [3, 4]]).arraySync()); // [[15, 20], [6, 12]]
 * ```
 */
export function matMul(
  a: SparseLike | TensorLike,
  b: SparseLike | TensorLike,
  adjointA = false,
  adjointB = false,
): Tensor {
  if (isSparse(a) === isSparse(b)) {
    throw new TypeError(
      `Cannot apply sparse.matMul to ${describe(a)} and ${
        describe(b)
      }: wanted one sparse and one dense matrix`,
    );
  }
  const isFirst = isSparse(a);
  const [sparse, other] = (isFirst ? [a, b] : [b, a]) as [SparseLike, TensorLike];
  const x = toSparse(sparse, isFirst ? "a" : "b", "matMul");
  const dense = toDenseInput(other, isFirst ? "b" : "a", "sparse.matMul", { dtype: x.dtype });
  return compose(() => {
    const inputs = [checkedIndices(x), x.values, wideShape(x), dense];
    if (isFirst) {
      const flags = { adjoint_a: adjointA, adjoint_b: adjointB };
      return apply1(SparseTensorDenseMatMul, inputs, flags);
    }
    // The adjoint of a product is that of the second operand times that of the first.
    const flags = { adjoint_a: !adjointB, adjoint_b: !adjointA };
    return transpose(apply1(SparseTensorDenseMatMul, inputs, flags), [1, 0], true);
  });
}

/**
 * Adds two sparse tensors of one shape to a sparse one, or a sparse and a dense tensor to a dense one. For two sparse
 * tensors, whose indices must be in order, sums smaller than `threshold` at common places are dropped as in TensorFlow.
 * Differentiable with respect to values and the dense tensor. Throws `TypeError` where both are dense or the dtypes
 * differ, `ValueError` for shapes known to differ, `InvalidArgumentError` for those found to. Follows TensorFlow
 * `tf.sparse.add`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2]);
 * console.log(tf.sparse.add(x, x).values.arraySync()); // [10, 12]
 * console.log(tf.sparse.add(x, [[1, 1], [1, 1]]).arraySync()); // [[1, 6], [7, 1]]
 * ```
 */
export function add(a: SparseLike, b: SparseLike, threshold?: TensorLike): SparseTensor;
/** The sum of a dense and a sparse tensor is dense. */
export function add(a: TensorLike, b: SparseLike, threshold?: TensorLike): Tensor;
/** The sum of a sparse and a dense tensor is dense. */
export function add(a: SparseLike, b: TensorLike, threshold?: TensorLike): Tensor;
export function add(
  a: SparseLike | TensorLike,
  b: SparseLike | TensorLike,
  threshold: TensorLike = 0,
): SparseTensor | Tensor {
  if (isSparse(a) && isSparse(b)) {
    return addSparse(toSparse(a, "a", "add"), toSparse(b, "b", "add"), threshold);
  }
  if (!isSparse(a) && !isSparse(b)) {
    throw new TypeError(
      `Cannot apply sparse.add to ${describe(a)} and ${
        describe(b)
      }: at least one should be a SparseTensor, tf.add() adds dense tensors`,
    );
  }
  const [sparse, other] = (isSparse(a) ? [a, b] : [b, a]) as [SparseLike, TensorLike];
  const x = toSparse(sparse, isSparse(a) ? "a" : "b", "add");
  const dense = toDenseInput(other, isSparse(a) ? "b" : "a", "sparse.add", { dtype: x.dtype });
  const dims = isConcrete(x.shape) ? intVector(x.shape) : x.denseShape;
  return apply1(SparseTensorDenseAdd, [checkedIndices(x), x.values, dims, dense]);
}

function addSparse(a: SparseTensor, b: SparseTensor, threshold: TensorLike): SparseTensor {
  if (!compatible(a.shape, b.shape)) {
    throw new ValueError(`Cannot add ${a} and ${b}: shapes must be equal`);
  }
  const dtype = partOf(a.dtype);
  const least = toDenseInput(threshold, "threshold", "sparse.add", { dtype });
  wantArgument(least, 0, "sparse.add", "threshold");
  return compose(() => {
    const inputs = [...wideParts(a), ...wideParts(b), least];
    const [indices, values, dims] = apply(SparseAdd, inputs);
    return sparseOf(indices, values, dims, mergeShapes(a.shape, b.shape));
  });
}

/**
 * Takes the part of a sparse tensor from `start` on, of `size` or to the tensor's end. Differentiable with respect to
 * values. Throws `TypeError` where `x` is no sparse tensor or the numbers are not whole, `ValueError` where there is
 * not one number for each dimension, `InvalidArgumentError` for a negative size. Follows TensorFlow `tf.sparse.slice`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 1], [1, 0], [1, 2]], [5, 6, 7], [2, 3]);
 * const part = tf.sparse.slice(x, [0, 1], [2, 2]);
 * console.log(part.shape, tf.sparse.toDense(part).arraySync()); // [2, 2] [[5, 0], [0, 7]]
 * ```
 */
export function slice(x: SparseLike, start: TensorLike, size: TensorLike): SparseTensor {
  const given = toSparse(x, "x", "slice");
  const [from, most] = ([["start", start], ["size", size]] as const).map(([arg, v]) => {
    const input = toIndexInput(v, arg, "sparse.slice");
    if (!isInteger(input.dtype)) {
      throw new TypeError(
        `Cannot apply sparse.slice: ${arg} must be whole numbers, received ${describe(v)}`,
      );
    }
    const shape = shapeOfInput(input), rank = given.shape?.length ?? null;
    if (compatible(shape, [rank])) return input;
    throw new ValueError(
      `Cannot apply sparse.slice: expected ${arg} to be a vector of length ${
        rank ?? "?"
      } but received shape ${shapeText(shape)}`,
    );
  });
  const begins = literalInts(from), sizes = literalInts(most);
  const known = begins && sizes &&
    given.shape?.map((d, k) => d === null ? null : Math.max(0, Math.min(sizes[k], d - begins[k])));
  return compose(() => {
    const wide = [from, most].map((v) => castInput(v, "int64"));
    const [indices, values, dims] = apply(SparseSlice, [...wideParts(given), ...wide]);
    return sparseOf(indices, values, dims, known ?? null);
  });
}

/**
 * Keeps the elements of a sparse tensor for which `toRetain`, a vector of as many booleans, is true. Differentiable
 * with respect to values. Throws `TypeError` where `x` is no sparse tensor or `toRetain` not boolean, `ValueError`
 * where their numbers differ. Follows TensorFlow `tf.sparse.retain`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2]);
 * console.log(tf.sparse.retain(x, tf.greater(x.values, 5)).values.arraySync()); // [6]
 * ```
 */
export function retain(x: SparseLike, toRetain: TensorLike): SparseTensor {
  const { indices, values, denseShape, shape } = toSparse(x, "x", "retain");
  const mask = toDenseInput(toRetain, "toRetain", "sparse.retain");
  if (mask.dtype !== "bool") {
    throw new TypeError(
      `Cannot apply sparse.retain: toRetain must be bool, received ${mask.dtype}`,
    );
  }
  const count = values.staticShape?.[0] ?? null;
  if (!compatible(shapeOfInput(mask), [count])) {
    throw new ValueError(
      `Cannot apply sparse.retain: toRetain must have shape ${shapeText([count])}, received ${
        shapeText(shapeOfInput(mask))
      }`,
    );
  }
  return compose(() => {
    const kept = reshape(where(asTensor(mask)), [-1]);
    return sparseOf(gather(indices, kept), gather(values, kept), identity(denseShape), shape);
  });
}

/**
 * Joins sparse tensors along an axis, with the elements in the order of their indices. The other dimensions must be
 * equal, or with `expandNonconcatDims` become the largest. Differentiable with respect to values. Throws `TypeError`
 * for values that are no list of sparse tensors of one dtype, `ValueError` for an axis out of range and shapes known
 * not to fit, `InvalidArgumentError` for those found not to. Follows TensorFlow `tf.sparse.concat`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2]);
 * console.log(tf.sparse.toDense(tf.sparse.concat([x, x], 1)).arraySync()); // [[0, 5, 0, 5], [6, 0, 6, 0]]
 * ```
 */
export function concat(
  tensors: readonly SparseLike[],
  axis = 0,
  expandNonconcatDims = false,
): SparseTensor {
  wantBoolean(expandNonconcatDims, "expandNonconcatDims", "sparse.concat");
  if (!Array.isArray(tensors)) {
    throw new TypeError(
      `Argument 'tensors' passed to 'sparse.concat' must be a list, but got ${describe(tensors)}`,
    );
  }
  if (tensors.length === 0) throw new ValueError("Cannot apply sparse.concat to no tensors");
  const given = tensors.map((x, i) => toSparse(x, `tensors[${i}]`, "concat"));
  const [first] = given;
  const rank = given.find((x) => x.shape !== null)?.shape?.length;
  if (rank === undefined) {
    throw new ValueError(`Cannot apply sparse.concat to ${first}: the rank must be known`);
  }
  const [at] = normalizeAxes(axis, rank);
  const shape = joinedShape(given, { at, rank, expand: expandNonconcatDims });
  const check = !expandNonconcatDims && !isConcrete(shape);
  return compose(() => {
    if (given.length === 1) {
      const [indices, values, dims] = first.components.map((t) => identity(t));
      return sparseOf(indices, values, dims, shape);
    }
    const largest = expandNonconcatDims ? max(stack(given.map((x) => x.denseShape)), 0) : null;
    const parts = given.map((x) => {
      const [indices, values, dims] = wideParts(x);
      if (largest === null) return [indices, values, asTensor(dims)] as const;
      const isAlong = Array.from({ length: rank }, (_, d) => d === at);
      return [indices, values, cast(where(isAlong, x.denseShape, largest), "int64")] as const;
    });
    const [indices, values, dims] = joinSparse(parts, { axis: at, rank, check });
    return sparseOf(indices, values, dims, shape);
  });
}

/** Returns the known shape of joined tensors. Throws `TypeError` and `ValueError` where they do not fit. */
function joinedShape(
  given: readonly SparseTensor[],
  { at, rank, expand }: { readonly at: number; readonly rank: number; readonly expand: boolean },
): PartialShape {
  const [first] = given;
  return Array.from({ length: rank }, (_, d) => {
    const extents = given.map((x) => {
      if (x.dtype !== first.dtype || x.shape !== null && x.shape.length !== rank) {
        const Wrong = x.dtype === first.dtype ? ValueError : TypeError;
        throw new Wrong(
          `Cannot apply sparse.concat to ${first} and ${x}: ranks and dtypes must be equal`,
        );
      }
      return x.shape?.[d] ?? null;
    });
    const known = extents.filter((n) => n !== null), isWhole = known.length === extents.length;
    if (d === at) return isWhole ? known.reduce((a, b) => a + b) : null;
    if (expand) return isWhole ? Math.max(...known) : null;
    const other = known.find((n) => n !== known[0]);
    if (other === undefined) return known[0] ?? null;
    throw new ValueError(
      `Cannot apply sparse.concat along axis ${at}: dimension ${d} must be equal, received ${
        known[0]
      } and ${other}`,
    );
  });
}
