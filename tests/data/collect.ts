// What the tests of datasets share.

import type * as tf from "@weft/weft";

/** Plain values of one element. */
export function plain(element: unknown): unknown {
  if (Array.isArray(element)) return element.map(plain);
  const tensor = element as tf.NdArray;
  if (typeof tensor.toArray === "function") return tensor.toArray();
  return Object.fromEntries(Object.entries(element as object).map(([key, v]) => [key, plain(v)]));
}

/** Plain values of every element. */
export async function collect(dataset: tf.data.Dataset<unknown>): Promise<unknown[]> {
  return await Array.fromAsync(dataset.asNumpyIterator(), plain);
}

/** The specs of a dataset as texts. */
export function specText(spec: unknown): unknown {
  if (Array.isArray(spec)) return spec.map(specText);
  if (Object.getPrototypeOf(spec) !== Object.prototype) return String(spec);
  return Object.fromEntries(Object.entries(spec as object).map(([k, v]) => [k, specText(v)]));
}
