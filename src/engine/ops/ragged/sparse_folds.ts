/** Reductions, softmax, extremes and sums of segments of sparse tensors, in the namespace `tf.sparse`. */
import { apply, apply1, compose, type OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import type { OpDef } from "../../core/op.ts";
import { compatible, mergeShapes, normalizeAxes } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { range } from "../array/ranges.ts";
import { identity, reshape, size as sizeOf } from "../array/view.ts";
import { asTensor, castInput, intVector, shapeOfInput, toIndexInput } from "../input.ts";
import type { Axes } from "../reduce/reduce.ts";
import { type SparseLike, sparseOf, toSparse, wideParts } from "./sparse_input.ts";
import { SparseReduceMax, SparseReduceSum } from "./sparse_parts.ts";
import { SparseSoftmax, SparseSparseMaximum, SparseSparseMinimum } from "./sparse_rows.ts";
import type { SparseTensor } from "./sparse_tensor.ts";

/**
 * Sums over axes of a sparse tensor to a dense tensor; over all axes by default. `keepDims` keeps them with length 1.
 * Differentiable with respect to values. Throws `TypeError` where `x` is no sparse tensor, `ValueError` for an axis out
 * of range. Follows TensorFlow `tf.sparse.reduce_sum`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 1], [1, 0], [1, 1]], [5, 6, 7], [2, 2]);
 * console.log(tf.sparse.reduceSum(x, 1).arraySync()); // [5, 13]
 * ```
 */
export function reduceSum(x: SparseLike, axis?: Axes, keepDims = false): Tensor {
  const given = toSparse(x, "x", "reduceSum");
  return compose(() =>
    apply1(SparseReduceSum, [...wideParts(given), axesOf(given, axis, "reduceSum")], {
      keep_dims: keepDims,
    })
  );
}

/** Returns axes of a reduction as its host input. Throws `ValueError` for one out of range. */
function axesOf({ shape, denseShape }: SparseTensor, axis: Axes, fn: string): OpInput {
  if (axis === null || axis === undefined) {
    return shape === null ? range(0, sizeOf(denseShape), 1, "int32") : intVector([...shape.keys()]);
  }
  if (typeof axis !== "number" && !Array.isArray(axis)) {
    const axes = castInput(toIndexInput(axis as TensorLike, "axis", `sparse.${fn}`), "int32");
    return shapeOfInput(axes)?.length === 0 ? reshape(asTensor(axes), [1]) : axes;
  }
  const list = typeof axis === "number" ? [axis] : axis as readonly number[];
  return intVector(shape === null ? list : normalizeAxes(list, shape.length));
}

/**
 * Takes maxima over axes of a sparse tensor to a dense tensor; over all axes by default. Elements that are not there do
 * not count; a place without any is 0. `keepDims` keeps the axes with length 1. Not differentiable, as in TensorFlow.
 * Throws `TypeError` where `x` is no sparse tensor, `ValueError` for an axis out of range. Follows TensorFlow
 * `tf.sparse.reduce_max`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 1], [1, 0], [1, 1]], [-5, 6, 7], [2, 2]);
 * console.log(tf.sparse.reduceMax(x, 1).arraySync()); // [-5, 7]
 * ```
 */
export function reduceMax(x: SparseLike, axis?: Axes, keepDims = false): Tensor {
  const given = toSparse(x, "x", "reduceMax");
  return compose(() =>
    apply1(SparseReduceMax, [...wideParts(given), axesOf(given, axis, "reduceMax")], {
      keep_dims: keepDims,
    })
  );
}

/**
 * The softmax of the elements of each row, which lies along the last dimension; elements that are not there do not count.
 * The indices must be in order. Differentiable with respect to values. Throws `TypeError` where `x` is no sparse tensor of
 * floats, `ValueError` for vectors. Follows TensorFlow `tf.sparse.softmax`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [3, 3, 9], [2, 3]);
 * console.log(tf.sparse.softmax(x).values.arraySync()); // [0.5, 0.5, 1]
 * ```
 */
export function softmax(x: SparseLike): SparseTensor {
  const given = toSparse(x, "x", "softmax"), { shape } = given;
  if (shape !== null && shape.length < 2) {
    throw new ValueError(
      `Cannot apply sparse.softmax to ${given}: wanted at least 2 dimensions, received ${shape.length}`,
    );
  }
  return compose(() => {
    const values = apply1(SparseSoftmax, wideParts(given));
    return sparseOf(identity(given.indices), values, identity(given.denseShape), shape);
  });
}

/** Combines two sparse tensors of one shape, element by element. */
function paired(def: OpDef, fn: string, a: SparseLike, b: SparseLike): SparseTensor {
  const x = toSparse(a, "a", fn), y = toSparse(b, "b", fn);
  if (!compatible(x.shape, y.shape)) {
    throw new ValueError(`Cannot apply sparse.${fn} to ${x} and ${y}: shapes must be equal`);
  }
  return compose(() => {
    const [indices, values] = apply(def, [...wideParts(x), ...wideParts(y)]);
    return sparseOf(indices, values, identity(x.denseShape), mergeShapes(x.shape, y.shape));
  });
}

/**
 * The larger element of two sparse tensors of one shape at each place that either has; an element that is not there is 0.
 * The indices must be in order. Not differentiable, as in TensorFlow. Throws `TypeError` where an argument is no sparse
 * tensor or the dtypes differ, `ValueError` for shapes known to differ, `InvalidArgumentError` for those found to. Follows
 * TensorFlow `tf.sparse.maximum`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const a = new tf.SparseTensor([[0], [1]], [5, -6], [3]), b = new tf.SparseTensor([[0], [2]], [7, 1], [3]);
 * console.log(tf.sparse.toDense(tf.sparse.maximum(a, b)).arraySync()); // [7, 0, 1]
 * ```
 */
export function maximum(a: SparseLike, b: SparseLike): SparseTensor {
  return paired(SparseSparseMaximum, "maximum", a, b);
}

/**
 * The smaller element of two sparse tensors, as {@linkcode maximum} gives the larger one. Throws as that does. Follows
 * TensorFlow `tf.sparse.minimum`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const a = new tf.SparseTensor([[0], [1]], [5, -6], [3]), b = new tf.SparseTensor([[0], [2]], [7, 1], [3]);
 * console.log(tf.sparse.toDense(tf.sparse.minimum(a, b)).arraySync()); // [5, -6, 0]
 * ```
 */
export function minimum(a: SparseLike, b: SparseLike): SparseTensor {
  return paired(SparseSparseMinimum, "minimum", a, b);
}
