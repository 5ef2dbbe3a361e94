/** Placeholders of ragged and sparse values. */
import { wantList, wantNumber, wantString } from "../../engine/core/arguments.ts";
import type { DType } from "../../engine/core/dtype.ts";
import { ValueError } from "../../engine/core/errors.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import { placeholder } from "../../engine/ops/graph_ops.ts";
import { RaggedTensor } from "../../engine/ops/ragged/ragged_tensor.ts";
import { SparseTensor } from "../../engine/ops/ragged/sparse_tensor.ts";

/**
 * A placeholder of a ragged tensor, of which `raggedRank` dimensions are ragged; `valueShape` are the dimensions below
 * them. A session takes a `tf.RaggedTensor` for it, or the `RaggedArray` of another run. Throws `RuntimeError` in eager
 * mode, `ValueError` for no ragged dimension. Follows TensorFlow `tf.compat.v1.ragged.placeholder`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const graph = new tf.Graph();
 * const [words, twice] = graph.asDefault(() => {
 *   const words = tf.compat.v1.ragged.placeholder("int32", 1);
 *   return [words, tf.ragged.mapFlatValues(tf.mul, words, 2)];
 * });
 * await using sess = new tf.Session({ graph });
 * const out = await sess.run(twice, { feeds: new Map([[words, tf.ragged.constant([[1], [2, 3]], { dtype: "int32" })]]) });
 * console.log(out.toList()); // [[2], [4, 6]]
 * ```
 */
export function raggedPlaceholder(
  dtype: DType,
  raggedRank: number,
  valueShape: NonNullable<PartialShape> = [],
  name = "RaggedPlaceholder",
): RaggedTensor {
  wantNumber(raggedRank, "raggedRank", "ragged.placeholder");
  if (!(Number.isInteger(raggedRank) && raggedRank >= 1)) {
    throw new ValueError(
      `Cannot make a ragged placeholder: wanted a raggedRank of at least 1, received ${raggedRank}`,
    );
  }
  wantList(valueShape, "valueShape", "ragged.placeholder");
  const values = placeholder(dtype, [null, ...valueShape], `${name}/flat_values`);
  const splits = Array.from(
    { length: raggedRank },
    (_, i) => placeholder("int32", [null], `${name}/row_splits_${i}`),
  );
  return RaggedTensor.fromNestedRowSplits(values, splits);
}

/**
 * A placeholder of a sparse tensor; `shape` is the dense one, with null for unknown dimensions. A session takes a
 * `tf.SparseTensor` for it, or `{ indices, values, denseShape }`. Throws `RuntimeError` in eager mode. Follows
 * TensorFlow `tf.compat.v1.sparse_placeholder`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const graph = new tf.Graph();
 * const [x, dense] = graph.asDefault(() => {
 *   const x = tf.compat.v1.sparsePlaceholder("float32", [2, 2]);
 *   return [x, x.toDense()];
 * });
 * await using sess = new tf.Session({ graph });
 * const feeds = new Map([[x, { indices: [[0, 1]], values: [5], denseShape: [2, 2] }]]);
 * console.log((await sess.run(dense, { feeds }) as tf.NdArray).toArray()); // [[0, 5], [0, 0]]
 * ```
 */
export function sparsePlaceholder(
  dtype: DType,
  shape: PartialShape = null,
  name = "SparsePlaceholder",
): SparseTensor {
  wantString(name, "name", "sparsePlaceholder");
  const rank = shape?.length ?? null;
  return new SparseTensor(
    placeholder("int32", [null, rank], `${name}/indices`),
    placeholder(dtype, [null], `${name}/values`),
    placeholder("int32", [rank], `${name}/shape`),
  );
}
