/** Softmax and related functions on the host, over rows of the last axis. Floats only; sums are float64. */
import { InvalidArgumentError } from "../../core/errors.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { type Numbers, numbersOf, scratchFor, settle } from "./numbers.ts";

function greatest(x: Numbers, p: number, n: number): number {
  let m = -Infinity;
  for (let i = p; i < p + n; i++) if (x[i] > m) m = x[i];
  return m;
}

function columnsOf(a: NdArray): number {
  return a.shape.length === 0 ? 1 : a.shape[a.shape.length - 1];
}

/** `exp(x) / sum(exp(x))`. */
export function softmaxCpu(input: NdArray, out: NdArray): void {
  const x = numbersOf(input), y = scratchFor(out), n = columnsOf(input);
  for (let p = 0; p < x.length; p += n) {
    const m = greatest(x, p, n);
    let s = 0;
    for (let i = p; i < p + n; i++) {
      const e = Math.exp(x[i] - m);
      s += e;
      y[i] = e;
    }
    const q = 1 / s;
    for (let i = p; i < p + n; i++) y[i] *= q;
  }
  settle(y, out);
}

/** `log(softmax(x))`. */
export function logSoftmaxCpu(input: NdArray, out: NdArray): void {
  const x = numbersOf(input), y = scratchFor(out), n = columnsOf(input);
  for (let p = 0; p < x.length; p += n) {
    const m = greatest(x, p, n);
    let s = 0;
    for (let i = p; i < p + n; i++) s += Math.exp(x[i] - m);
    const l = Math.log(s);
    for (let i = p; i < p + n; i++) y[i] = x[i] - m - l;
  }
  settle(y, out);
}

/** Cross entropy of each row, and `softmax(x) - labels`. */
export function crossEntropyCpu(
  [features, labels]: readonly NdArray[],
  [loss, backprop]: readonly NdArray[],
): void {
  const x = numbersOf(features), l = numbersOf(labels), n = columnsOf(features);
  const e = scratchFor(loss), g = scratchFor(backprop);
  for (let p = 0, r = 0; p < x.length; p += n, r++) {
    const m = greatest(x, p, n);
    let s = 0, t = 0, d = 0;
    for (let i = p; i < p + n; i++) {
      const v = Math.exp(x[i] - m);
      s += v;
      t += l[i];
      d += l[i] * (x[i] - m);
      g[i] = v;
    }
    e[r] = t * Math.log(s) - d;
    const q = 1 / s;
    for (let i = p; i < p + n; i++) g[i] = g[i] * q - l[i];
  }
  settle(e, loss);
  settle(g, backprop);
}

/**
 * Computes the cross entropy for labels that are class numbers. Throws `InvalidArgumentError` for a label out of range.
 */
export function sparseCrossEntropyCpu(
  [features, labels]: readonly NdArray[],
  [loss, backprop]: readonly NdArray[],
): void {
  const x = numbersOf(features), n = columnsOf(features);
  const e = scratchFor(loss), g = scratchFor(backprop);
  for (let p = 0, r = 0; p < x.length; p += n, r++) {
    const label = Number(labels.data[r]);
    if (!(label >= 0 && label < n)) {
      throw new InvalidArgumentError(
        `Received a label value of ${label} which is outside the valid range of [0, ${n})`,
      );
    }
    const m = greatest(x, p, n);
    let s = 0;
    for (let i = p; i < p + n; i++) {
      const v = Math.exp(x[i] - m);
      s += v;
      g[i] = v;
    }
    e[r] = Math.log(s) - (x[p + label] - m);
    const q = 1 / s;
    for (let i = p; i < p + n; i++) g[i] *= q;
    g[p + label] -= 1;
  }
  settle(e, loss);
  settle(g, backprop);
}
