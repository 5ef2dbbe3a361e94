/**
 * Layer normalization, sums over windows and local response normalization on the host. Floats only; sums are float64.
 */
import type { NdArray } from "../../core/nd_array.ts";
import { numbersOf, scratchFor, settle } from "./numbers.ts";

/** `(x - mean) * rsqrt(variance + epsilon) * scale + offset` over rows of the last axis. */
export function layerNormCpu(
  [input, scales, offsets]: readonly NdArray[],
  epsilon: number,
  out: NdArray,
): void {
  const x = numbersOf(input),
    scale = numbersOf(scales),
    offset = numbersOf(offsets),
    y = scratchFor(out);
  const n = scale.length;
  for (let p = 0; p < x.length; p += n) {
    let s = 0, v = 0;
    for (let i = p; i < p + n; i++) s += x[i];
    const m = s / n;
    for (let i = p; i < p + n; i++) v += (x[i] - m) * (x[i] - m);
    const r = 1 / Math.sqrt(v / n + epsilon);
    for (let i = 0; i < n; i++) y[p + i] = (x[p + i] - m) * r * scale[i] + offset[i];
  }
  settle(y, out);
}

/** Gradients of {@linkcode layerNormCpu} with respect to `x`, `scale` and `offset`. */
export function layerNormGradCpu(
  [gradient, input, scales]: readonly NdArray[],
  epsilon: number,
  outs: readonly NdArray[],
): void {
  const dy = numbersOf(gradient), x = numbersOf(input), scale = numbersOf(scales);
  const dx = scratchFor(outs[0]), n = scale.length;
  const dscale = new Float64Array(n), doffset = new Float64Array(n);
  for (let p = 0; p < x.length; p += n) {
    let s = 0, v = 0, a = 0, b = 0;
    for (let i = p; i < p + n; i++) s += x[i];
    const m = s / n;
    for (let i = p; i < p + n; i++) v += (x[i] - m) * (x[i] - m);
    const r = 1 / Math.sqrt(v / n + epsilon);
    for (let i = 0; i < n; i++) {
      const h = (x[p + i] - m) * r, g = dy[p + i] * scale[i];
      a += g;
      b += g * h;
      dscale[i] += dy[p + i] * h;
      doffset[i] += dy[p + i];
    }
    a /= n;
    b /= n;
    for (let i = 0; i < n; i++) {
      dx[p + i] = r * (dy[p + i] * scale[i] - a - (x[p + i] - m) * r * b);
    }
  }
  settle(dx, outs[0]);
  [dscale, doffset].forEach((d, k) => {
    const to = scratchFor(outs[k + 1]);
    for (let i = 0; i < n; i++) to[i] = d[i];
    settle(to, outs[k + 1]);
  });
}

/** Each element's window along the last axis: `f(sum of g over the window, the element)`. */
function overWindows(
  input: NdArray,
  radius: number,
  g: (v: number) => number,
  f: (sum: number, v: number) => number,
  out: NdArray,
): void {
  const x = numbersOf(input), y = scratchFor(out), n = input.shape[input.shape.length - 1] ?? 1;
  for (let p = 0; p < x.length; p += n) {
    for (let i = 0; i < n; i++) {
      let s = 0;
      for (let k = Math.max(0, i - radius), e = Math.min(n - 1, i + radius); k <= e; k++) {
        s += g(x[p + k]);
      }
      y[p + i] = f(s, x[p + i]);
    }
  }
  settle(y, out);
}

/** Sum of the elements up to `radius` away along the last axis. */
export function windowSumCpu(x: NdArray, radius: number, out: NdArray): void {
  overWindows(x, radius, (v) => v, (s) => s, out);
}

/** Constants of local response normalization. */
export interface LrnOptions {
  /** Half of the window. */
  readonly radius: number;
  /** Added to the scaled sum of squares. */
  readonly bias: number;
  /** Scale of the sum of squares. */
  readonly alpha: number;
  /** Exponent. */
  readonly beta: number;
}

/** `x / (bias + alpha * (sum of squares in the window)) ** beta`. */
export function lrnCpu(x: NdArray, { radius, bias, alpha, beta }: LrnOptions, out: NdArray): void {
  overWindows(x, radius, (v) => v * v, (s, v) => v * Math.pow(bias + alpha * s, -beta), out);
}
