/**
 * Pooling on the host, of two or three spatial axes, and morphological dilation: the greatest sum of an element and the
 * filter's tap over it.
 */
import { castArray } from "../../core/convert.ts";
import { NdArray } from "../../core/nd_array.ts";
import { inPlaces, type WindowGeometry } from "../conv/geometry.ts";
import type { Numbers } from "./matmul.ts";
import { channelSteps, eachWindow, plain, type Window, withPlain } from "./windows.ts";

function dataOf(a: NdArray): Numbers {
  return plain(a).data as Numbers;
}

/** Visits a window of one channel, with its offsets in the result, and in the image after its first channel. */
type Visit = (place: number, window: Window, channel: number) => void;

/** Runs a visitor of each window and channel on one or two arrays and a zeroed result. */
function runPool(
  g: WindowGeometry,
  [x, y = x]: readonly NdArray[],
  out: NdArray,
  kernel: (x: Numbers, y: Numbers, out: Numbers) => Visit,
): void {
  const [si, so] = channelSteps(g);
  withPlain(out, (made) => {
    const visit = kernel(dataOf(x), dataOf(y), made.data as Numbers);
    eachWindow(g, (w) => {
      for (let c = 0; c < g.channels; c++) visit(w.to + c * so, w, c * si);
    });
  });
}

/** Returns the position of the first maximum; -1 where there is no number. */
function firstMax(x: Numbers, { from, count }: Window, channel: number): number {
  let at = -1;
  for (let t = 0; t < count; t++) {
    const p = from[t] + channel, v = x[p];
    if (at < 0 ? v === v : v > x[at]) at = p;
  }
  return at;
}

/** Returns that position, or the first element of a window of NaN; -1 for a window outside the image. */
function winner(x: Numbers, w: Window, channel: number): number {
  if (w.count === 0) return -1;
  const at = firstMax(x, w, channel);
  return at < 0 ? w.from[0] + channel : at;
}

/** Computes the greatest element of each window; elements outside the image and NaN do not count. */
export function maxPoolCpu(g: WindowGeometry, input: NdArray, out: NdArray): void {
  runPool(g, [input], out, (x, _, y) => (place, w, c) => {
    const at = firstMax(x, w, c);
    y[place] = at < 0 ? -Infinity : x[at];
  });
}

/** Computes the mean of the elements of each window that lie inside the image; 0 where none does. */
export function avgPoolCpu(g: WindowGeometry, input: NdArray, out: NdArray): void {
  runPool(g, [input], out, (x, _, y) => (place, { from, count }, c) => {
    let s = 0;
    for (let t = 0; t < count; t++) s += x[from[t] + c];
    if (count > 0) y[place] = s / count;
  });
}

/** Sends each gradient to the first maximum of its window. */
export function maxPoolGradCpu(g: WindowGeometry, ins: readonly NdArray[], out: NdArray): void {
  runPool(g, ins, out, (x, dy, dx) => (place, w, c) => {
    const at = winner(x, w, c);
    if (at >= 0) dx[at] += dy[place];
  });
}

/** Takes from the second array the element at the first maximum of each window of the first. */
export function maxPoolGradGradCpu(g: WindowGeometry, ins: readonly NdArray[], out: NdArray): void {
  runPool(g, ins, out, (x, dd, y) => (place, w, c) => {
    const at = winner(x, w, c);
    if (at >= 0) y[place] = dd[at];
  });
}

/** Spreads each gradient evenly over its window's elements inside the image. */
export function avgPoolGradCpu(g: WindowGeometry, grad: NdArray, out: NdArray): void {
  runPool(g, [grad], out, (dy, _, dx) => (place, { from, count }, c) => {
    const v = dy[place] / count;
    for (let t = 0; t < count; t++) dx[from[t] + c] += v;
  });
}

/**
 * Computes flat positions of the first maxima: `(y * width + x) * channels + channel`, plus the image's offset where
 * asked.
 */
export function argMaxPoolCpu(
  g: WindowGeometry,
  input: NdArray,
  [out, argmax]: readonly NdArray[],
  withBatch: boolean,
): void {
  const imageSize = inPlaces(g) * g.channels, places = argmax.data as Numbers;
  const isWide = argmax.dtype === "int64";
  runPool(g, [input], out, (x, _, y) => (place, w, c) => {
    const at = winner(x, w, c);
    y[place] = at < 0 ? -Infinity : x[at];
    const flat = at < 0 ? 0 : withBatch ? at : at % imageSize;
    places[place] = (isWide ? BigInt(flat) : flat) as number;
  });
}

/**
 * Passes each result to `visit`: its position, the winner's positions in the image and among the taps with channels (-1
 * for none), the sum.
 */
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
