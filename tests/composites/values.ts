// Ragged and sparse tensors that tests share, and their plain values.

import * as tf from "@weft/weft";

/** Rows of different lengths. */
export const ragged = (): tf.RaggedTensor => tf.ragged.constant([[1, 2], [], [3, 4, 5]]);
/** Rows of rows. */
export const deep = (): tf.RaggedTensor => tf.ragged.constant([[[1], []], [[2, 3]]]);
/** Rows of pairs. */
export const pairs = (): tf.RaggedTensor =>
  tf.RaggedTensor.fromRowSplits([[1, 2], [3, 4], [5, 6]], [0, 1, 3]);
/** Three rows of two, the second of them empty. */
export const sparse = (): tf.SparseTensor => new tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2]);

/** Plain values of a nest: lists of ragged tensors, and indices, values and dense shape of sparse ones. */
export async function plain(value: unknown): Promise<unknown> {
  if (value instanceof tf.RaggedTensor) return await value.array();
  if (value instanceof tf.SparseTensor) {
    const { indices, values, denseShape } = value;
    return {
      indices: await indices.array(),
      values: await values.array(),
      denseShape: await denseShape.array(),
    };
  }
  if (value instanceof tf.Tensor) return await value.array();
  if (Array.isArray(value)) return await Promise.all(value.map(plain));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(async ([key, v]) => [key, await plain(v)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

/** Sparse values as {@linkcode plain} gives them. */
export function sparseOf(
  indices: readonly (readonly number[])[],
  values: readonly unknown[],
  denseShape: readonly number[],
): unknown {
  return { indices, values, denseShape };
}
