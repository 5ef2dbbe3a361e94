/** Index of the greatest or least element along an axis, on the host. */
import { isBigInt } from "../../core/dtype.ts";
import type { ArgOp } from "../../core/meaning.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { numbersOf, setWhole } from "./numbers.ts";
import { lineOf } from "../reduce/layout.ts";

/** Writes the index of the first extreme element along the axis; NaN loses against any number. */
export function argReduceCpu(op: ArgOp, x: NdArray, axis: number, out: NdArray): void {
  const { outer, length, inner } = lineOf(x.shape, axis);
  const data = isBigInt(x.dtype) ? x.data as unknown as ArrayLike<number> : numbersOf(x);
  const least = op === "min";
  for (let o = 0, k = 0; o < outer; o++) {
    for (let i = 0; i < inner; i++, k++) {
      let p = o * length * inner + i, best = data[p], at = 0;
      for (let l = 1; l < length; l++) {
        p += inner;
        const v = data[p];
        if (least ? v < best : v > best) {
          best = v;
          at = l;
        } else if (best !== best && v === v) {
          best = v;
          at = l;
        }
      }
      setWhole(out, k, at);
    }
  }
}
