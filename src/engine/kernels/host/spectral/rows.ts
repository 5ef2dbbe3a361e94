/**
 * Fourier transforms of the rows of tensors on the host. Those of real numbers are transforms of half the length where it is even.
 */
import type { NdArray } from "../../../core/nd_array.ts";
import { sizeOf } from "../../../core/shape.ts";
import { fftPlan, type Parts, type Plan, root } from "./fft.ts";

function lastOf({ shape }: NdArray): number {
  return shape[shape.length - 1];
}

function rowsOf({ shape }: NdArray): number {
  return sizeOf(shape.slice(0, -1));
}

// Loops over a row are functions of their own: engines compile those that are called often.

/** Loads complex numbers from a place, or their conjugates where the sign is -1. */
function loadComplex(x: Float64Array, p: number, { re, im }: Parts, n: number, sign: 1 | -1): void {
  for (let i = 0; i < n; i++, p += 2) {
    re[i] = x[p];
    im[i] = sign * x[p + 1];
  }
}

/** Stores complex numbers whose parts are scaled. */
function storeComplex(
  y: Float64Array,
  p: number,
  { re, im }: Parts,
  n: number,
  a: number,
  b: number,
): void {
  for (let i = 0; i < n; i++, p += 2) {
    y[p] = re[i] * a;
    y[p + 1] = im[i] * b;
  }
}

/** Transforms rows of complex numbers; the inverse divides by their length. */
export function fftCpu(input: NdArray, inverse: boolean, out: NdArray): void {
  const n = lastOf(input), sign = inverse ? -1 : 1, scale = inverse ? 1 / n : 1, plan = fftPlan(n);
  const x = input.data as Float64Array, y = out.data as Float64Array;
  for (let r = 0, count = rowsOf(input); r < count; r++) {
    // The inverse is the conjugate of the transform of conjugates.
    loadComplex(x, 2 * r * n, plan, n, sign);
    storeComplex(y, 2 * r * n, plan.run(), n, scale, sign * scale);
  }
}

const kept = new WeakMap<Plan, Parts>();

/** Returns the real and imaginary parts of `exp(-2πi k / length)` for the bins of real transforms; kept with those of half the length. */
function turnsOf(half: Plan, length: number): Parts {
  let turns = kept.get(half);
  if (!turns) {
    const bins = (length >> 1) + 1, re = new Float64Array(bins), im = new Float64Array(bins);
    for (let k = 0; k < bins; k++) [re[k], im[k]] = root(k, length);
    turns = { re, im };
    kept.set(half, turns);
  }
  return turns;
}

/** Transforms rows of real numbers, cut or padded to `length`; `store` reads the first half of each result, and its middle. */
function forward(
  from: NdArray,
  length: number,
  store: (row: number, bins: Parts) => void,
): void {
  const x = from.data as Float64Array, n = lastOf(from), used = Math.min(n, length);
  const halved = length > 0 && length % 2 === 0, size = halved ? length / 2 : length;
  const plan = fftPlan(size), { re, im } = plan;
  const bins = { re: new Float64Array(size + 1), im: new Float64Array(size + 1) };
  const turns = halved ? turnsOf(plan, length) : bins;
  for (let r = 0, count = rowsOf(from), p = 0; r < count; r++, p += n) {
    if (!halved) {
      for (let i = 0; i < used; i++) re[i] = x[p + i];
      re.fill(0, used);
      im.fill(0);
      store(r, plan.run());
      continue;
    }
    const pairs = used >> 1;
    loadComplex(x, p, plan, pairs, 1);
    re.fill(0, pairs);
    im.fill(0, pairs);
    if (used % 2 === 1) re[pairs] = x[p + used - 1];
    split(plan.run(), turns, bins, size);
    store(r, bins);
  }
}

/** Computes the bins of real numbers from the transform of their pairs. */
function split(
  { re: a, im: b }: Parts,
  { re: c, im: s }: Parts,
  { re, im }: Parts,
  size: number,
): void {
  re[0] = a[0] + b[0];
  im[0] = 0;
  re[size] = a[0] - b[0];
  im[size] = 0;
  for (let k = 1, l = size - 1; k < size; k++, l--) {
    const er = a[k] + a[l], ei = b[k] - b[l], or = b[k] + b[l], oi = a[l] - a[k];
    re[k] = 0.5 * (er + or * c[k] - oi * s[k]);
    im[k] = 0.5 * (ei + or * s[k] + oi * c[k]);
  }
}

/**
 * Sums rows of bins and the conjugates of inner ones, each times a turn of its own, into rows of `length` real numbers over a divisor, cut
 * or padded to those of `out`. The imaginary parts of the first and the middle bin do not count.
 */
function backward(
  from: NdArray,
  length: number,
  out: NdArray,
  { inner, divisor }: { readonly inner: number; readonly divisor: number },
): void {
  const x = from.data as Float64Array, y = out.data as Float64Array;
  const given = lastOf(from),
    n = lastOf(out),
    bins = (length >> 1) + 1,
    used = Math.min(given, bins);
  const halved = length > 0 && length % 2 === 0, size = halved ? length / 2 : length;
  const plan = fftPlan(size), { re, im } = plan;
  const g = { re: new Float64Array(bins), im: new Float64Array(bins) }, { re: a, im: b } = g;
  const turns = halved ? turnsOf(plan, length) : g, stored = Math.min(n, length);
  for (let r = 0, count = rowsOf(out), o = 0; r < count; r++, o += n) {
    for (let k = 0, p = 2 * r * given; k < used; k++, p += 2) {
      const single = k === 0 || 2 * k === length;
      a[k] = single ? x[p] : inner * x[p];
      b[k] = single ? 0 : inner * x[p + 1];
    }
    // Conjugated, so that a forward transform inverts.
    if (halved) join(g, turns, plan, size);
    else {
      for (let k = 0; k < bins && k < length; k++) {
        re[k] = a[k];
        im[k] = -b[k];
        if (k === 0) continue;
        re[length - k] = a[k];
        im[length - k] = b[k];
      }
    }
    const { re: c, im: d } = plan.run();
    if (halved) {
      for (let i = 0; i < stored; i++) y[o + i] = (i & 1 ? -d[i >> 1] : c[i >> 1]) / divisor;
    } else for (let i = 0; i < stored; i++) y[o + i] = c[i] / divisor;
    y.fill(0, o + stored, o + n);
  }
}

/** Inverts {@linkcode split}, but for a factor of two and for the sign of the imaginary parts. */
function join(
  { re: a, im: b }: Parts,
  { re: c, im: s }: Parts,
  { re, im }: Parts,
  size: number,
): void {
  for (let k = 0, l = size; k < size; k++, l--) {
    const er = a[k] + a[l], ei = b[k] - b[l], dr = a[k] - a[l], di = b[k] + b[l];
    const or = dr * c[k] + di * s[k], oi = di * c[k] - dr * s[k];
    re[k] = er - oi;
    im[k] = -(ei + or);
  }
}

/** Transforms rows of real numbers, cut or padded to `length`; writes the first half of the result and its middle. */
export function rfftCpu(input: NdArray, length: number, out: NdArray): void {
  const y = out.data as Float64Array, n = lastOf(out);
  forward(input, length, (r, bins) => {
    storeComplex(y, 2 * r * n, bins, n, 1, 1);
  });
}

/** Inverts {@linkcode rfftCpu}: rows of `length` real numbers from the first half of their transform. */
export function irfftCpu(input: NdArray, length: number, out: NdArray): void {
  backward(input, length, out, { inner: 1, divisor: length });
}

/** Computes the adjoint of {@linkcode rfftCpu}, for its gradient. */
export function rfftAdjointCpu(gradient: NdArray, length: number, out: NdArray): void {
  backward(gradient, length, out, { inner: 0.5, divisor: 1 });
}

/** Computes the adjoint of {@linkcode irfftCpu}. */
export function irfftAdjointCpu(gradient: NdArray, length: number, out: NdArray): void {
  const bins = lastOf(out), y = out.data as Float64Array;
  y.fill(0);
  const used = Math.min(bins, (length >> 1) + 1);
  forward(gradient, length, (r, { re, im }) => {
    for (let k = 0, p = 2 * r * bins; k < used && length > 0; k++, p += 2) {
      // An inner bin stands for itself and its conjugate.
      const single = k === 0 || 2 * k === length;
      y[p] = re[k] * (single ? 1 : 2) / length;
      y[p + 1] = single ? 0 : im[k] * 2 / length;
    }
  });
}
