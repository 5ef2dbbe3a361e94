/**
 * Numbers that need no file: what variables and inputs of programs start from. `python/registry.py` makes the same ones.
 */

import * as tf from "@weft/weft";

/** A shape, whose elements are a wave around 0, or more said about it. */
export type Start = readonly number[] | {
  readonly shape: readonly number[];
  readonly dtype?: "float16" | "float32" | "float64";
  /** Amplitude of the wave. Default 0.5. */
  readonly scale?: number;
  /** Mean of the wave. Default 0. */
  readonly offset?: number;
} | {
  readonly shape: readonly number[];
  /** Whole numbers from 0 to below this, as int32. */
  readonly below: number;
} | {
  /** The elements themselves. */
  readonly values: readonly number[];
  /** Default a vector. */
  readonly shape?: readonly number[];
  readonly dtype?: "float32" | "float64" | "int32" | "bool";
};

/** The elements of a start. Those of another phase are others. */
export function valuesOf(start: Start, phase: number): tf.NdArray {
  const about = "length" in start ? { shape: start } : start;
  if ("values" in about) {
    const { values, shape = [values.length], dtype = "float32" } = about;
    return arrayOf(dtype, shape, (i) => values[i]);
  }
  if ("below" in about) {
    return arrayOf("int32", about.shape, (i) => (7 * i + 3 * phase) % about.below);
  }
  const { shape, dtype = "float32", scale = 0.5, offset = 0 } = about;
  return arrayOf(dtype, shape, (i) => offset + scale * Math.sin(1.7 * phase + 0.9 * i));
}

function arrayOf(dtype: tf.DType, shape: readonly number[], at: (i: number) => number): tf.NdArray {
  const array = tf.NdArray.zeros(dtype, shape), data = array.data as Float32Array;
  for (let i = 0; i < array.size; i++) data[i] = at(i);
  return array;
}
