/**
 * Discrete Fourier transforms on the host: radix 2 for powers of two, Bluestein's convolution for other lengths; float64 inside.
 */
import type { NdArray } from "../../core/nd_array.ts";

/** Transforms vectors of one length in place. */
export interface Fft {
  /** Forward transform of real and imaginary parts. */
  forward(re: Float64Array, im: Float64Array): void;
}

const plans = new Map<number, Fft>();
const PLAN_LIMIT = 64;

/** The transform of vectors of `n` elements. */
export function fftPlan(n: number): Fft {
  let plan = plans.get(n);
  if (!plan) {
    plan = (n & (n - 1)) === 0 ? radix2(n) : bluestein(n);
    if (plans.size >= PLAN_LIMIT) plans.clear();
    plans.set(n, plan);
  }
  return plan;
}

function radix2(n: number): Fft {
  // Twiddles of each stage lie together: those of `half` start at `half - 1`.
  const cos = new Float64Array(Math.max(0, n - 1)), sin = new Float64Array(Math.max(0, n - 1));
  for (let half = 1; half < n; half *= 2) {
    for (let k = 0; k < half; k++) {
      // A right angle has no cosine, whatever the rounding of pi.
      cos[half - 1 + k] = 2 * k === half ? 0 : Math.cos(Math.PI * k / half);
      sin[half - 1 + k] = -Math.sin(Math.PI * k / half);
    }
  }
  const reversed = new Uint32Array(n);
  for (let i = 1; i < n; i++) reversed[i] = (reversed[i >> 1] >> 1) | ((i & 1) * (n >> 1));
  return {
    forward(re, im) {
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
    },
  };
}

/** Any length as a convolution with a chirp, whose length is a power of two. */
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
  inner.forward(chirpRe, chirpIm);
  const a = new Float64Array(m), b = new Float64Array(m);
  return {
    forward(re, im) {
      a.fill(0);
      b.fill(0);
      for (let i = 0; i < n; i++) {
        a[i] = re[i] * cos[i] + im[i] * sin[i];
        b[i] = im[i] * cos[i] - re[i] * sin[i];
      }
      inner.forward(a, b);
      for (let i = 0; i < m; i++) {
        const r = a[i] * chirpRe[i] - b[i] * chirpIm[i];
        // Conjugated, so that a second forward transform inverts.
        b[i] = -(a[i] * chirpIm[i] + b[i] * chirpRe[i]);
        a[i] = r;
      }
      inner.forward(a, b);
      for (let i = 0; i < n; i++) {
        const r = a[i] / m, s = -b[i] / m;
        re[i] = r * cos[i] + s * sin[i];
        im[i] = s * cos[i] - r * sin[i];
      }
    },
  };
}

/** Transforms rows of complex numbers; the inverse divides by their length. */
export function fftCpu(input: NdArray, inverse: boolean, out: NdArray): void {
  const n = input.shape[input.shape.length - 1];
  if (n === 0) return;
  const x = input.data as Float64Array, y = out.data as Float64Array;
  const plan = fftPlan(n), re = new Float64Array(n), im = new Float64Array(n);
  const sign = inverse ? -1 : 1, scale = inverse ? 1 / n : 1;
  for (let p = 0; p < x.length; p += 2 * n) {
    for (let i = 0; i < n; i++) {
      re[i] = x[p + 2 * i];
      im[i] = sign * x[p + 2 * i + 1];
    }
    plan.forward(re, im);
    for (let i = 0; i < n; i++) {
      y[p + 2 * i] = re[i] * scale;
      y[p + 2 * i + 1] = sign * im[i] * scale;
    }
  }
}

/** Transforms rows of real numbers, cut or padded to `length`; writes the first half of the result and its middle. */
export function rfftCpu(input: NdArray, length: number, out: NdArray): void {
  const n = input.shape[input.shape.length - 1], bins = out.shape[out.shape.length - 1];
  const x = input.data as Float64Array, y = out.data as Float64Array;
  const plan = fftPlan(length), re = new Float64Array(length), im = new Float64Array(length);
  const used = Math.min(n, length);
  const rows = out.data.length / (2 * bins);
  for (let r = 0; r < rows; r++) {
    re.fill(0);
    im.fill(0);
    for (let i = 0; i < used; i++) re[i] = x[r * n + i];
    plan.forward(re, im);
    for (let i = 0, o = 2 * r * bins; i < bins; i++, o += 2) {
      y[o] = re[i];
      y[o + 1] = im[i];
    }
  }
}

/** Inverts {@linkcode rfftCpu}: rows of `length` real numbers from the first half of their transform. */
export function irfftCpu(input: NdArray, length: number, out: NdArray): void {
  const given = input.shape[input.shape.length - 1];
  const x = input.data as Float64Array, y = out.data as Float64Array;
  const plan = fftPlan(length), re = new Float64Array(length), im = new Float64Array(length);
  const used = Math.min(given, (length >> 1) + 1);
  const rows = length === 0 ? 0 : out.data.length / length;
  for (let r = 0; r < rows; r++) {
    re.fill(0);
    im.fill(0);
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
    plan.forward(re, im);
    for (let i = 0; i < length; i++) y[r * length + i] = re[i] / length;
  }
}

/** Adjoint of {@linkcode rfftCpu}: what a gradient of its result says about its input. */
export function rfftAdjointCpu(gradient: NdArray, length: number, out: NdArray): void {
  const bins = gradient.shape[gradient.shape.length - 1], n = out.shape[out.shape.length - 1];
  const g = gradient.data as Float64Array, x = out.data as Float64Array;
  const plan = fftPlan(length), re = new Float64Array(length), im = new Float64Array(length);
  for (let r = 0, rows = n === 0 ? 0 : x.length / n; r < rows; r++) {
    re.fill(0);
    im.fill(0);
    for (let k = 0, p = 2 * r * bins; k < bins; k++, p += 2) {
      re[k] = g[p];
      im[k] = -g[p + 1];
    }
    plan.forward(re, im);
    for (let i = 0; i < n; i++) x[r * n + i] = i < length ? re[i] : 0;
  }
}

/** Adjoint of {@linkcode irfftCpu}. */
export function irfftAdjointCpu(gradient: NdArray, length: number, out: NdArray): void {
  const bins = out.shape[out.shape.length - 1];
  const g = gradient.data as Float64Array, y = out.data as Float64Array;
  const plan = fftPlan(length), re = new Float64Array(length), im = new Float64Array(length);
  y.fill(0);
  const used = Math.min(bins, (length >> 1) + 1);
  for (let r = 0, rows = bins === 0 ? 0 : y.length / (2 * bins); r < rows; r++) {
    im.fill(0);
    for (let i = 0; i < length; i++) re[i] = g[r * length + i];
    plan.forward(re, im);
    for (let k = 0, p = 2 * r * bins; k < used && length > 0; k++, p += 2) {
      // A bin of the inside stands for itself and its conjugate.
      const single = k === 0 || 2 * k === length;
      y[p] = re[k] * (single ? 1 : 2) / length;
      y[p + 1] = single ? 0 : im[k] * 2 / length;
    }
  }
}
