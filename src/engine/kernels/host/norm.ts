/** Sums over windows and local response normalization on the host. Floats only; sums are float64. */
import type { NdArray } from "../../core/nd_array.ts";
import { numbersOf, scratchFor, settle } from "./numbers.ts";

/** Computes for each element `f(sum of g over its window along the last axis, the element)`. */
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

/** Constants of local response normalization, as in the formula of {@linkcode lrnCpu}. */
export interface LrnOptions {
  readonly radius: number;
  readonly bias: number;
  readonly alpha: number;
  readonly beta: number;
}

/** `x / (bias + alpha * (sum of squares in the window)) ** beta`. */
export function lrnCpu(x: NdArray, { radius, bias, alpha, beta }: LrnOptions, out: NdArray): void {
  overWindows(x, radius, (v) => v * v, (s, v) => v * Math.pow(bias + alpha * s, -beta), out);
}
