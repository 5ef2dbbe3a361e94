/**
 * Morphological dilation on the host: the greatest sum of an element and the filter's tap over it.
 */
import { castArray } from "../../core/convert.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { WindowGeometry } from "../conv/geometry.ts";

type Numbers = { [i: number]: number };

/** Calls `visit(place of the result, place of the winner in the image, its flat tap with channel, the sum)` for each result. */
function forEachWinner(
  g: WindowGeometry,
  x: Numbers,
  filter: Numbers,
  visit: (out: number, at: number, tap: number, value: number) => void,
): void {
  const [, h, w] = g.axes, c = g.channels;
  let out = 0;
  for (let n = 0; n < g.batch; n++) {
    for (let oy = 0; oy < h.out; oy++) {
      for (let ox = 0; ox < w.out; ox++) {
        for (let k = 0; k < c; k++, out++) {
          let best = -Infinity, at = -1, tap = -1;
          for (let i = 0; i < h.filter; i++) {
            const y = oy * h.stride - h.before + i * h.dilation;
            if (y < 0 || y >= h.in) continue;
            for (let j = 0; j < w.filter; j++) {
              const z = ox * w.stride - w.before + j * w.dilation;
              if (z < 0 || z >= w.in) continue;
              const from = ((n * h.in + y) * w.in + z) * c + k, t = (i * w.filter + j) * c + k;
              const value = Number(x[from]) + Number(filter[t]);
              if (value > best || at < 0) {
                best = value;
                at = from;
                tap = t;
              }
            }
          }
          visit(out, at, tap, best);
        }
      }
    }
  }
}

function plain(a: NdArray): Numbers {
  return (a.dtype === "bfloat16" || a.dtype === "float16"
    ? castArray(a, "float32").data
    : a.data) as Numbers;
}

/** Gives a kernel sums in float64, stored in the result's dtype afterwards. */
function collect(out: NdArray, run: (sums: Float64Array) => void): void {
  const wide = NdArray.zeros("float64", out.shape);
  run(wide.data as Float64Array);
  (out.data as Float32Array).set(
    (out.dtype === "float64" ? wide : castArray(wide, out.dtype)).data as Float32Array,
  );
}

/** Dilation. */
export function dilationCpu(g: WindowGeometry, x: NdArray, filter: NdArray, out: NdArray): void {
  collect(out, (y) => forEachWinner(g, plain(x), plain(filter), (o, _, __, value) => y[o] = value));
}

/** Sends each gradient to the element that won. */
export function dilationInputCpu(
  g: WindowGeometry,
  x: NdArray,
  filter: NdArray,
  dy: NdArray,
  out: NdArray,
): void {
  const grad = plain(dy);
  collect(
    out,
    (dx) =>
      forEachWinner(g, plain(x), plain(filter), (o, at) => at >= 0 && (dx[at] += Number(grad[o]))),
  );
}

/** Sends each gradient to the tap that won. */
export function dilationFilterCpu(
  g: WindowGeometry,
  x: NdArray,
  filter: NdArray,
  dy: NdArray,
  out: NdArray,
): void {
  const grad = plain(dy);
  collect(
    out,
    (df) =>
      forEachWinner(
        g,
        plain(x),
        plain(filter),
        (o, _, tap) => tap >= 0 && (df[tap] += Number(grad[o])),
      ),
  );
}
