/** Sparse tensors as strings and back, in the namespace `tf.io`. On the host. */
import { apply, apply1, compose } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import {
  DeserializeManySparse,
  SerializeManySparse,
  SerializeSparse,
} from "../host/serialize_sparse.ts";
import { toInput } from "../input.ts";
import { type SparseLike, sparseOf, toSparse, wideParts } from "../ragged/sparse_input.ts";
import type { SparseTensor } from "../ragged/sparse_tensor.ts";
import { dtypeOf } from "./texts.ts";

/**
 * A sparse tensor as three strings: the indices, the values and the dense shape, each as `io.serializeTensor` writes them. Throws `TypeError` where
 * `x` is no sparse tensor. TensorFlow op `SerializeSparse`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const parts = tf.io.serializeSparse(new tf.SparseTensor([[0, 1]], [5], [2, 3]));
 * console.log(parts.shape); // [3]
 * ```
 */
export function serializeSparse(x: SparseLike): Tensor {
  const given = toSparse(x, "x", "io.serializeSparse");
  return compose(() => apply1(SerializeSparse, wideParts(given)));
}

/**
 * The rows of a sparse tensor, of shape `[rows, 3]`, each as {@linkcode serializeSparse} writes it. Throws `TypeError` where `x` is no
 * sparse tensor, `InvalidArgumentError` for a vector. TensorFlow op `SerializeManySparse`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const rows = tf.io.serializeManySparse(new tf.SparseTensor([[0, 1]], [5], [2, 3]));
 * console.log(rows.shape); // [2, 3]
 * ```
 */
export function serializeManySparse(x: SparseLike): Tensor {
  const given = toSparse(x, "x", "io.serializeManySparse");
  return compose(() => apply1(SerializeManySparse, wideParts(given)));
}

/**
 * The sparse tensor whose rows are those of `[rows, 3]` strings, as wide as the widest. Throws `InvalidArgumentError` for strings that are
 * no such rows and for values of another dtype. TensorFlow op `DeserializeManySparse`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const rows = tf.io.serializeManySparse(new tf.SparseTensor([[0, 1]], [5], [2, 3]));
 * console.log(tf.sparse.toDense(tf.io.deserializeManySparse(rows, "float32")).arraySync()); // [[0, 5, 0], [0, 0, 0]]
 * ```
 */
export function deserializeManySparse(serialized: TensorLike, dtype: DType): SparseTensor {
  const fn = "io.deserializeManySparse", own = dtypeOf(dtype, "dtype", fn);
  const input = toInput(serialized, "serialized", fn, { dtype: "string" });
  const [indices, values, dims] = apply(DeserializeManySparse, [input], { dtype: own });
  return sparseOf(indices, values, dims, null);
}
