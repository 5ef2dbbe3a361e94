/** Numbered elements on the host: ranges, evenly spaced numbers, one-hot rows. */
import { isBigInt } from "../../core/dtype.ts";
import { type ElementValue, type NdArray, setElement } from "../../core/nd_array.ts";
import type { Line } from "../reduce/layout.ts";
import { fillCpu, wordsOf } from "./fill.ts";

/** Computes `start + i * step`; the last element is `last` where that is given. */
export function rampCpu(
  out: NdArray,
  start: ElementValue,
  step: ElementValue,
  last?: number,
): void {
  const n = out.size;
  if (isBigInt(out.dtype)) {
    const data = out.data as BigInt64Array,
      from = BigInt(start as bigint),
      by = BigInt(step as bigint);
    for (let i = 0; i < n; i++) data[i] = from + BigInt(i) * by;
    return;
  }
  for (let i = 0; i < n; i++) setElement(out, i, Number(start) + i * Number(step));
  if (last !== undefined && n > 0) setElement(out, n - 1, last);
}

/** Writes the element of `on` where the index is the position along the axis, else that of `off`. */
export function oneHotCpu(
  indices: NdArray,
  on: NdArray,
  off: NdArray,
  { outer, length, inner }: Line,
  out: NdArray,
): void {
  fillCpu(out, off);
  const list = indices.data as unknown as ArrayLike<number | bigint>;
  const { words, slots } = wordsOf(out.data, out.dtype), mark = wordsOf(on.data, on.dtype).words;
  for (let o = 0; o < outer; o++) {
    for (let i = 0; i < inner; i++) {
      const d = Number(list[o * inner + i]);
      if (d < 0 || d >= length) continue;
      const at = ((o * length + d) * inner + i) * slots;
      for (let k = 0; k < slots; k++) words[at + k] = mark[k];
    }
  }
}
