/** Functions of two numbers over arrays that broadcast, for functions with loops on the host alone. */
import type { NdArray } from "../../core/nd_array.ts";
import { broadcastStrides } from "../../core/shape.ts";

/** Writes `f` of each pair of elements. */
export function broadcastPairs(
  a: NdArray,
  b: NdArray,
  out: NdArray,
  f: (a: number, b: number) => number,
): void {
  const left = broadcastStrides(a.shape, out.shape), right = broadcastStrides(b.shape, out.shape);
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
