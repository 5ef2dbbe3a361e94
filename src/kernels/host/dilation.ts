/**
 * Morphological dilation on the host: the greatest sum of an element and the filter's tap over it.
 */
import { castArray } from "../../core/convert.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { WindowGeometry } from "../conv/geometry.ts";
import type { Numbers } from "./matmul.ts";
import { eachWindow, plain } from "./windows.ts";

/** Gives each result to `visit`: its place, the winner's places in the image and among the taps with channels (-1 for none), the sum. */
function withWinners(
  g: WindowGeometry,
  x: NdArray,
  filter: NdArray,
  out: NdArray,
  visit: (sums: Float64Array, place: number, at: number, tap: number, value: number) => void,
): void {
  const a = plain(x).data as Numbers, f = plain(filter).data as Numbers, c = g.channels;
  // Sums are float64, stored in the result's dtype afterwards.
  const wide = NdArray.zeros("float64", out.shape), sums = wide.data as Float64Array;
  eachWindow(g, ({ to, count, from, taps }) => {
    for (let k = 0; k < c; k++) {
      let best = -Infinity, at = -1, tap = -1;
      for (let t = 0; t < count; t++) {
        const p = from[t] + k, q = taps[t] * c + k, value = Number(a[p]) + Number(f[q]);
        if (!(value > best || at < 0)) continue;
        best = value;
        at = p;
        tap = q;
      }
      visit(sums, to + k, at, tap, best);
    }
  });
  (out.data as Float32Array).set(castArray(wide, out.dtype).data as Float32Array);
}

/** Dilation. */
export function dilationCpu(g: WindowGeometry, x: NdArray, filter: NdArray, out: NdArray): void {
  withWinners(g, x, filter, out, (y, place, _, __, value) => y[place] = value);
}

/** Sends each gradient to the element that won, or to the tap. */
export function dilationGradCpu(
  g: WindowGeometry,
  [x, filter, dy]: readonly NdArray[],
  to: "element" | "tap",
  out: NdArray,
): void {
  const grad = plain(dy).data as Numbers;
  withWinners(g, x, filter, out, (sums, place, at, tap) => {
    if (at >= 0) sums[to === "tap" ? tap : at] += Number(grad[place]);
  });
}
