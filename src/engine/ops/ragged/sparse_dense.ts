/** Dense tensors of sparse ones, in the namespace `tf.sparse`. */
import { isConcrete } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { sparseToDense } from "../array/scatter.ts";
import { checkedIndices } from "./sparse_check.ts";
import { type SparseLike, toSparse } from "./sparse_input.ts";

/**
 * Converts a sparse tensor to a dense one, with `defaultValue` elsewhere: a scalar of its dtype, by default 0, false or
 * the empty string. Differentiable. Throws `TypeError` where `x` is no sparse tensor; with `validateIndices` `InvalidArgumentError` for an
 * index out of range, and on the CPU for indices that repeat or are out of order. Follows TensorFlow `tf.sparse.to_dense`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2]);
 * console.log(tf.sparse.toDense(x, -1).arraySync()); // [[-1, 5], [6, -1]]
 * ```
 */
export function toDense(
  x: SparseLike,
  defaultValue?: TensorLike,
  validateIndices = true,
): Tensor {
  const given = toSparse(x, "x", "toDense"), { values, denseShape, shape, dtype } = given;
  const none = dtype === "string" ? "" : dtype === "bool" ? false : 0;
  const at = validateIndices ? checkedIndices(given) : given.indices;
  const dims = isConcrete(shape) ? shape : denseShape;
  const dense = sparseToDense(at, values, dims, defaultValue ?? none, validateIndices);
  if (dense.isSymbolic) dense.setShape(shape);
  return dense;
}
