/**
 * Compares what two runs of a program gave.
 *
 * @module
 */

import type * as tf from "@weft/weft";

/** A result on the host; null for no gradient. */
export interface Value {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

/** Reads tensors. */
export async function valuesOf(list: readonly (tf.Tensor | null)[]): Promise<(Value | null)[]> {
  return await Promise.all(list.map(async (t) => t && arrayValue(await t.ndarray())));
}

/** A host array as numbers. */
export function arrayValue(a: tf.NdArray): Value {
  return { dtype: a.dtype, shape: a.shape, data: Array.from(a.data as Float32Array, Number) };
}

/** Allowed difference of floats, relative to the largest of the result. */
export interface Tolerance {
  readonly float32: number;
  readonly float16: number;
}

function isFloat(dtype: string): boolean {
  return dtype.startsWith("float") || dtype.startsWith("complex");
}

/** Says where two lists of results differ, or null. Zeros and no gradient at all are the same. */
export function difference(
  want: readonly (Value | null)[],
  have: readonly (Value | null)[],
  tolerance: Tolerance,
): string | null {
  if (want.length !== have.length) return `${have.length} results, wanted ${want.length}`;
  for (let i = 0; i < want.length; i++) {
    const [a, b] = [want[i] ?? null, have[i] ?? null];
    if (a === null || b === null) {
      const other = a ?? b;
      if (other === null || other.data.every((v) => v === 0 || Number.isNaN(v))) continue;
      return `result ${i}: ${a === null ? "a value" : "nothing"}, wanted ${
        a === null ? "nothing" : "a value"
      }`;
    }
    if (a.dtype !== b.dtype) return `result ${i}: dtype ${b.dtype}, wanted ${a.dtype}`;
    if (String(a.shape) !== String(b.shape)) {
      return `result ${i}: shape [${b.shape}], wanted [${a.shape}]`;
    }
    const at = firstApart(a, b, a.dtype === "float16" ? tolerance.float16 : tolerance.float32);
    if (at >= 0) return `result ${i}, element ${at}: ${b.data[at]}, wanted ${a.data[at]}`;
  }
  return null;
}

function firstApart(a: Value, b: Value, relative: number): number {
  let largest = 1;
  for (const v of a.data) if (Number.isFinite(v)) largest = Math.max(largest, Math.abs(v));
  const allowed = isFloat(a.dtype) ? relative * largest : 0;
  return a.data.findIndex((x, k) => {
    const y = b.data[k]!;
    return !(Object.is(x, y) || x === y || Math.abs(x - y) <= allowed);
  });
}
