/**
 * A function of two numbers over arrays that broadcast: functions for which there are loops on the host alone.
 */
import type { NdArray } from "../../core/nd_array.ts";

/** Strides of an array along the axes of a result: 0 where it is repeated. */
function stridesIn(x: NdArray, out: NdArray): number[] {
  const strides = new Array<number>(out.rank).fill(0);
  for (let i = x.rank - 1, step = 1; i >= 0; step *= x.shape[i--]) {
    strides[i + out.rank - x.rank] = x.shape[i] === 1 ? 0 : step;
  }
  return strides;
}

/** Writes `f` of each pair of elements. */
export function broadcastPairs(
  a: NdArray,
  b: NdArray,
  out: NdArray,
  f: (a: number, b: number) => number,
): void {
  const left = stridesIn(a, out), right = stridesIn(b, out);
  const to = out.data as Float64Array;
  for (let i = 0; i < to.length; i++) {
    let p = 0, q = 0;
    for (let axis = out.rank - 1, rest = i; axis >= 0; axis--) {
      const k = rest % out.shape[axis];
      rest = (rest - k) / out.shape[axis];
      p += k * left[axis];
      q += k * right[axis];
    }
    to[i] = f(Number(a.at(p)), Number(b.at(q)));
  }
}
