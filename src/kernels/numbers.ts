/**
 * Host arrays as numbers: reads and writes float dtypes whose storage is not a plain number array.
 * May import core.
 */
import { bfloat16ToNumber, type NdArray, numberToBfloat16 } from "../core/nd_array.ts";

/** Something to read numbers from. */
export interface Numbers extends ArrayLike<number> {
  [index: number]: number;
}

/** The elements as numbers, without a copy where the storage allows (everything but bfloat16 and 64-bit integers). */
export function numbersOf(a: NdArray): Numbers {
  if (a.dtype === "bfloat16") return Float32Array.from(a.data as Uint16Array, bfloat16ToNumber);
  if (a.dtype === "int64" || a.dtype === "uint64") {
    return Float64Array.from(a.data as ArrayLike<bigint>, Number);
  }
  return a.data as Float32Array;
}

/** An array to compute a float result in: the output's own storage where that holds plain numbers. */
export function scratchFor(out: NdArray): Numbers {
  return out.dtype === "bfloat16" ? new Float32Array(out.data.length) : out.data as Float32Array;
}

/** Moves what was computed in {@linkcode scratchFor} to the output. */
export function settle(scratch: Numbers, out: NdArray): void {
  if (out.dtype !== "bfloat16") return;
  const d = out.data as Uint16Array;
  for (let i = 0; i < d.length; i++) d[i] = numberToBfloat16(scratch[i]);
}
