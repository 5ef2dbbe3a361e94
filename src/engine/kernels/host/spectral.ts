/**
 * Discrete Fourier transforms on the host: radix 2 for powers of two, Bluestein's convolution for other lengths; float64 inside.
 */
import type { NdArray } from "../../core/nd_array.ts";
import { sizeOf } from "../../core/shape.ts";

/** Transforms the real and imaginary parts of vectors of one length in place. */
type Fft = (re: Float64Array, im: Float64Array) => void;

const plans = new Map<number, Fft>();
const PLAN_LIMIT = 64;

/** Makes the transform of vectors of `n` elements. */
function fftPlan(n: number): Fft {
  let plan = plans.get(n);
  if (!plan) {
    plan = (n & (n - 1)) === 0 ? radix2(n) : bluestein(n);
    if (plans.size >= PLAN_LIMIT) plans.clear();
    plans.set(n, plan);
  }
  return plan;
}

function radix2(n: number): Fft {
  // Twiddles of each stage are contiguous: those of `half` start at `half - 1`.
  const cos = new Float64Array(Math.max(0, n - 1)), sin = new Float64Array(Math.max(0, n - 1));
  for (let half = 1; half < n; half *= 2) {
    for (let k = 0; k < half; k++) {
      // The cosine of a right angle is exactly 0, whatever the rounding of pi.
      cos[half - 1 + k] = 2 * k === half ? 0 : Math.cos(Math.PI * k / half);
      sin[half - 1 + k] = -Math.sin(Math.PI * k / half);
    }
  }
  const reversed = new Uint32Array(n);
  for (let i = 1; i < n; i++) reversed[i] = (reversed[i >> 1] >> 1) | ((i & 1) * (n >> 1));
  return (re, im) => {
    for (let i = 0; i < n; i++) {
      const j = reversed[i];
      if (j <= i) continue;
      const a = re[i], b = im[i];
      re[i] = re[j];
      im[i] = im[j];
      re[j] = a;
      im[j] = b;
    }
    // The first stage multiplies by 1 only.
    for (let a = 0; a + 1 < n; a += 2) {
      const xr = re[a + 1], xi = im[a + 1];
      re[a + 1] = re[a] - xr;
      im[a + 1] = im[a] - xi;
      re[a] += xr;
      im[a] += xi;
    }
    for (let half = 2; half < n; half *= 2) {
      const first = half - 1;
      for (let start = 0; start < n; start += 2 * half) {
        for (let k = 0; k < half; k++) {
          const a = start + k, b = a + half;
          const c = cos[first + k], s = sin[first + k], br = re[b], bi = im[b];
          const xr = br * c - bi * s, xi = br * s + bi * c;
          const ar = re[a], ai = im[a];
          re[b] = ar - xr;
          im[b] = ai - xi;
          re[a] = ar + xr;
          im[a] = ai + xi;
        }
      }
    }
  };
}

/** Transforms any length as a convolution with a chirp, whose length is a power of two. */
function bluestein(n: number): Fft {
  let m = 1;
  while (m < 2 * n - 1) m *= 2;
  const inner = fftPlan(m);
  const cos = new Float64Array(n), sin = new Float64Array(n);
  const chirpRe = new Float64Array(m), chirpIm = new Float64Array(m);
  for (let i = 0; i < n; i++) {
    // i² modulo 2n keeps the angle exact for long vectors.
    const angle = Math.PI * ((i * i) % (2 * n)) / n;
    cos[i] = Math.cos(angle);
    sin[i] = Math.sin(angle);
    chirpRe[i] = cos[i];
    chirpIm[i] = sin[i];
    if (i > 0) {
      chirpRe[m - i] = cos[i];
      chirpIm[m - i] = sin[i];
    }
  }
  inner(chirpRe, chirpIm);
  const a = new Float64Array(m), b = new Float64Array(m);
  return (re, im) => {
    a.fill(0);
    b.fill(0);
    for (let i = 0; i < n; i++) {
      a[i] = re[i] * cos[i] + im[i] * sin[i];
      b[i] = im[i] * cos[i] - re[i] * sin[i];
    }
    inner(a, b);
    for (let i = 0; i < m; i++) {
      const r = a[i] * chirpRe[i] - b[i] * chirpIm[i];
      // Conjugated, so that a second forward transform inverts.
      b[i] = -(a[i] * chirpIm[i] + b[i] * chirpRe[i]);
      a[i] = r;
    }
    inner(a, b);
    for (let i = 0; i < n; i++) {
      const r = a[i] / m, s = -b[i] / m;
      re[i] = r * cos[i] + s * sin[i];
      im[i] = s * cos[i] - r * sin[i];
    }
  };
}

function lastOf({ shape }: NdArray): number {
  return shape[shape.length - 1];
}

/** Reads or writes the complex numbers of a row. */
type Row = (row: number, re: Float64Array, im: Float64Array) => void;

/**
 * Transforms vectors of `length` elements, as many as `rows` has in its last axis: `load` writes them over zeros,
 * `store` reads the results.
 */
function eachRow(rows: NdArray, length: number, load: Row, store: Row): void {
  const plan = fftPlan(length), re = new Float64Array(length), im = new Float64Array(length);
  for (let r = 0, count = sizeOf(rows.shape.slice(0, -1)); r < count; r++) {
    re.fill(0);
    im.fill(0);
    load(r, re, im);
    plan(re, im);
    store(r, re, im);
  }
}

/** Transforms rows of complex numbers; the inverse divides by their length. */
export function fftCpu(input: NdArray, inverse: boolean, out: NdArray): void {
  const n = lastOf(input), sign = inverse ? -1 : 1, scale = inverse ? 1 / n : 1;
  eachRow(input, n, loadComplex(input, sign), storeComplex(out, sign, scale));
}

/** Loads rows of complex numbers, or of their conjugates where the sign is -1. */
function loadComplex(from: NdArray, sign: 1 | -1): Row {
  const x = from.data as Float64Array, n = lastOf(from);
  return (r, re, im) => {
    for (let i = 0, p = 2 * r * n; i < n; i++, p += 2) {
      re[i] = x[p];
      im[i] = sign * x[p + 1];
    }
  };
}

/** Stores as many complex numbers of a row as fit, conjugated and scaled alike. */
function storeComplex(to: NdArray, sign: 1 | -1, scale: number): Row {
  const y = to.data as Float64Array, n = lastOf(to);
  return (r, re, im) => {
    for (let i = 0, p = 2 * r * n; i < n; i++, p += 2) {
      y[p] = re[i] * scale;
      y[p + 1] = sign * im[i] * scale;
    }
  };
}

/** Loads rows of real numbers, cut or padded to the transform's length. */
function loadReal(from: NdArray): Row {
  const x = from.data as Float64Array, n = lastOf(from);
  return (r, re) => {
    for (let i = 0; i < n && i < re.length; i++) re[i] = x[r * n + i];
  };
}

/** Stores real parts divided by a number, followed by zeros. */
function storeReal(to: NdArray, divisor: number): Row {
  const y = to.data as Float64Array, n = lastOf(to);
  return (r, re) => {
    for (let i = 0; i < n; i++) y[r * n + i] = i < re.length ? re[i] / divisor : 0;
  };
}

/** Transforms rows of real numbers, cut or padded to `length`; writes the first half of the result and its middle. */
export function rfftCpu(input: NdArray, length: number, out: NdArray): void {
  eachRow(out, length, loadReal(input), storeComplex(out, 1, 1));
}

/** Inverts {@linkcode rfftCpu}: rows of `length` real numbers from the first half of their transform. */
export function irfftCpu(input: NdArray, length: number, out: NdArray): void {
  const given = lastOf(input), x = input.data as Float64Array;
  const used = Math.min(given, (length >> 1) + 1);
  eachRow(out, length, (r, re, im) => {
    for (let k = 0, p = 2 * r * given; k < used; k++, p += 2) {
      re[k] = x[p];
      // Conjugated, so that a forward transform inverts.
      im[k] = -x[p + 1];
      if (k === 0) im[0] = 0;
      else if (2 * k === length) im[k] = 0;
      else {
        re[length - k] = x[p];
        im[length - k] = x[p + 1];
      }
    }
  }, storeReal(out, length));
}

/** Computes the adjoint of {@linkcode rfftCpu}, for its gradient. */
export function rfftAdjointCpu(gradient: NdArray, length: number, out: NdArray): void {
  eachRow(out, length, loadComplex(gradient, -1), storeReal(out, 1));
}

/** Computes the adjoint of {@linkcode irfftCpu}. */
export function irfftAdjointCpu(gradient: NdArray, length: number, out: NdArray): void {
  const bins = lastOf(out), y = out.data as Float64Array;
  y.fill(0);
  const used = Math.min(bins, (length >> 1) + 1);
  eachRow(out, length, loadReal(gradient), (r, re, im) => {
    for (let k = 0, p = 2 * r * bins; k < used && length > 0; k++, p += 2) {
      // An inner bin stands for itself and its conjugate.
      const single = k === 0 || 2 * k === length;
      y[p] = re[k] * (single ? 1 : 2) / length;
      y[p + 1] = single ? 0 : im[k] * 2 / length;
    }
  });
}
