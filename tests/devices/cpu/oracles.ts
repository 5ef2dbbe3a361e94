/**
 * The kernels' computations in float64, written as plain formulas. Each result comes with the sum of the magnitudes
 * that were added, the scale of its error.
 */

import type { NdArray } from "../../../src/engine/core/nd_array.ts";
import { sizeOf } from "../../../src/engine/core/shape.ts";

/** The elements of a result, and how large what was summed to them is. */
export interface Expected {
  readonly values: Float64Array;
  /** For each element: error may be this times the precision of float32. Absent: the bits must be the same. */
  readonly scale?: Float64Array;
}

const numbers = (x: NdArray): ArrayLike<number> => x.data as Float32Array;

/** Sums of products, each named by the places of its factors and of the sum. */
export class Sums {
  readonly values: Float64Array;
  readonly scale: Float64Array;

  /** Nothing summed yet. */
  constructor(size: number) {
    this.values = new Float64Array(size);
    this.scale = new Float64Array(size);
  }
  /** Adds a term. */
  add(at: number, term: number): void {
    this.values[at] += term;
    // Each rounding of a subnormal term may cost its last bit.
    this.scale[at] += Math.abs(term) + 2 ** -125;
  }
}

/** Calls `visit` for each index into a shape, the last axis running fastest. */
export function eachIndex(
  shape: readonly number[],
  visit: (index: number[], at: number) => void,
): void {
  const size = sizeOf(shape), index = shape.map(() => 0);
  for (let at = 0; at < size; at++) {
    visit(index, at);
    for (let d = shape.length - 1; d >= 0 && ++index[d] === shape[d]; d--) index[d] = 0;
  }
}

/** The place of an index in a dense array; axes of extent 1 stand for all. */
export function placeOf(index: readonly number[], shape: readonly number[]): number {
  const skip = index.length - shape.length;
  return shape.reduce((at, n, d) => at * n + (n === 1 ? 0 : index[d + skip]), 0);
}

/** `Σ a[i, p] b[p, j]` for each matrix of the broadcast batches. */
export function products(
  a: NdArray,
  b: NdArray,
  [transA, transB]: readonly [boolean, boolean],
  batch: readonly number[] = [],
): Expected {
  const [ra, ca] = a.shape.slice(-2), [rb, cb] = b.shape.slice(-2);
  const [m, k] = transA ? [ca, ra] : [ra, ca], n = transB ? rb : cb;
  const sums = new Sums(sizeOf(batch) * m * n), x = numbers(a), y = numbers(b);
  eachIndex(batch, (index, matrix) => {
    const p = placeOf(index, a.shape.slice(0, -2)) * m * k;
    const q = placeOf(index, b.shape.slice(0, -2)) * k * n;
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        for (let l = 0; l < k; l++) {
          const left = x[p + (transA ? l * m + i : i * k + l)];
          const right = y[q + (transB ? j * k + l : l * n + j)];
          sums.add((matrix * m + i) * n + j, left * right);
        }
      }
    }
  });
  return sums;
}

/** Windows over the inner axes of `[batch, …, channels]`. */
export interface Windows {
  readonly input: readonly number[];
  readonly window: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  /** Places before the first and after the last, per axis, or TensorFlow's word for them. */
  readonly padding: readonly (readonly [number, number])[] | "SAME" | "VALID";
}

/** Extents of the result, and the places before the first. */
export function windowPlaces(w: Windows): { out: number[]; before: number[] } {
  const out: number[] = [], before: number[] = [];
  w.window.forEach((size, d) => {
    const n = w.input[d + 1], stride = w.strides[d], reach = (size - 1) * w.dilations[d] + 1;
    if (w.padding === "SAME") {
      out.push(Math.ceil(n / stride));
      before.push(Math.floor(Math.max(0, (out[d] - 1) * stride + reach - n) / 2));
    } else {
      const [low, high] = w.padding === "VALID" ? [0, 0] : w.padding[d];
      out.push(Math.max(0, Math.floor((n + low + high - reach) / stride) + 1));
      before.push(low);
    }
  });
  return { out, before };
}

/** Calls `visit` for each place of the result and each tap that lies within the image, all without their channels. */
export function eachTap(
  w: Windows,
  visit: (pixel: number, tap: number, place: number) => void,
): void {
  const { out, before } = windowPlaces(w);
  const image = w.input.slice(1, -1);
  eachIndex([w.input[0], ...out], ([n, ...place], at) => {
    eachIndex(w.window, (tap, t) => {
      const pixel = place.map((p, d) => p * w.strides[d] - before[d] + tap[d] * w.dilations[d]);
      if (pixel.some((p, d) => p < 0 || p >= image[d])) return;
      visit(pixel.reduce((s, p, d) => s * image[d] + p, n), t, at);
    });
  });
}

/** A convolution: which of input, filter and result is wanted from the other two. */
export function convolution(
  w: Windows,
  filterShape: readonly number[],
  wanted: "result" | "input" | "filter",
  [first, second]: readonly [NdArray, NdArray],
  depthwise = false,
): Expected {
  const [channels, more] = filterShape.slice(-2);
  const columns = depthwise ? channels * more : more;
  const size = {
    result: w.input[0] * sizeOf(windowPlaces(w).out) * columns,
    input: sizeOf(w.input),
    filter: sizeOf(filterShape),
  }[wanted];
  const sums = new Sums(size), a = numbers(first), b = numbers(second);
  eachTap(w, (pixel, tap, place) => {
    for (let c = 0; c < channels; c++) {
      for (let o = 0; o < more; o++) {
        const x = pixel * channels + c, f = (tap * channels + c) * more + o;
        const y = place * columns + (depthwise ? c * more + o : o);
        if (wanted === "result") sums.add(y, a[x] * b[f]);
        else if (wanted === "input") sums.add(x, a[f] * b[y]);
        else sums.add(f, a[x] * b[y]);
      }
    }
  });
  return sums;
}

/** Results of a function over rows of the last axis. The error is judged by `scale`, or by the result and 1. */
export function rows(
  shape: readonly number[],
  row: (at: number, n: number) => ArrayLike<number>,
  scale?: (at: number, n: number) => number,
): Expected {
  const n = shape[shape.length - 1], size = sizeOf(shape);
  const values = new Float64Array(size), scales = new Float64Array(size);
  for (let at = 0; at < size; at += n) {
    values.set(row(at, n), at);
    for (let i = 0; i < n; i++) scales[at + i] = scale?.(at, n) ?? 1 + Math.abs(values[at + i]);
  }
  return { values, scale: scales };
}

/** The exponentials of a row less its greatest element, which no NaN is, and their sum. */
export function exponentials(
  x: ArrayLike<number>,
  at: number,
  n: number,
): { shifted: number[]; e: number[]; sum: number } {
  const row = Array.from({ length: n }, (_, i) => x[at + i]);
  const top = row.reduce((m, v) => (v > m ? v : m), -Infinity);
  const shifted = row.map((v) => v - top), e = shifted.map(Math.exp);
  return { shifted, e, sum: e.reduce((s, v) => s + v, 0) };
}
