/** tf.io.SparseFeature: sparse tensors whose indices and values are features of their own. */
import { wantBoolean } from "../../../engine/core/arguments.ts";
import { describe } from "../../../engine/core/convert.ts";
import { ValueError } from "../../../engine/core/errors.ts";
import {
  type ExampleDType,
  exampleDType,
  type SparseFeature as Feature,
} from "./example_features.ts";

const MOST = 2 ** 31 - 1;

/** A feature of two or more, a sparse tensor: its indices and its values. */
export type SparseFeature = Feature;

/**
 * Makes a feature that becomes a `tf.SparseTensor` of shape `[batch, size]` out of two of the examples: the indices, int64, and as many values. With
 * a list of names and one of sizes, it has an axis for each. Elements are sorted by their indices unless they are said to be. Reading throws
 * `InvalidArgumentError` for an index outside of `size`, which TensorFlow keeps, and for other numbers of indices than values. Throws `ValueError` for
 * a missing name and for sizes that do not fit. Follows TensorFlow `tf.io.SparseFeature`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const record = tf.io.encodeExample({ at: [3n, 1n], value: [1, 2] });
 * const { x } = tf.io.parseExample([record], {
 *   x: tf.io.SparseFeature("at", "value", "float32", 5),
 * });
 * console.log(tf.sparse.toDense(x).arraySync()); // [[0, 2, 0, 1, 0]]
 * ```
 */
export function SparseFeature(
  indexKey: string | readonly string[],
  valueKey: string,
  dtype: ExampleDType,
  size: number | readonly number[],
  alreadySorted: boolean = false,
): SparseFeature {
  wantBoolean(alreadySorted, "alreadySorted", "SparseFeature");
  const keys = typeof indexKey === "string" ? [indexKey] : indexKey;
  if (!Array.isArray(keys) || keys.length === 0 || !keys.every(isName)) {
    throw new ValueError(`Missing index_key for SparseFeature: received ${describe(indexKey)}`);
  }
  if (!isName(valueKey)) {
    throw new ValueError(`Missing value_key for SparseFeature: received ${describe(valueKey)}`);
  }
  const sizes: unknown = Array.isArray(indexKey) ? size : [size];
  if (!Array.isArray(sizes) || sizes.length !== keys.length) {
    throw new ValueError(
      `Cannot make a SparseFeature of ${keys.length} names and size ${
        describe(size)
      }: wanted a size for each name`,
    );
  }
  for (const extent of sizes) {
    if (Number.isInteger(extent) && extent >= 0 && extent <= MOST) continue;
    throw new ValueError(
      `Argument \`size\` of SparseFeature must be a whole number from 0 to ${MOST}, received ${
        describe(extent)
      }`,
    );
  }
  return { kind: "sparse", indexKey, valueKey, dtype: exampleDType(dtype), size, alreadySorted };
}

const isName = (key: unknown): boolean => typeof key === "string" && key !== "";
