/** Reflections of complex vectors, `H = I - t · v · vᴴ`, as Eigen makes them: elements as pairs, in float64. Parts of matrices count pairs. */
import type { Part } from "./reflections.ts";

/** A reflection: its vector begins with 1. */
export interface ComplexReflection {
  readonly v: Float64Array;
  readonly re: number;
  readonly im: number;
}

/**
 * Makes the reflection that turns a vector into a real number and zeros below it. Returns the number, and the reflection, which takes the
 * vector's place.
 */
export function complexReflector(v: Float64Array): [head: number, ComplexReflection] {
  const re = v[0], im = v[1];
  let tail = 0;
  for (let i = 2; i < v.length; i++) tail += v[i] * v[i];
  v[0] = 1;
  v[1] = 0;
  if (tail === 0 && im === 0) return [re, { v, re: 0, im: 0 }];
  const length = Math.sqrt(re * re + im * im + tail), head = re >= 0 ? -length : length;
  const a = re - head, size = a * a + im * im;
  for (let i = 2; i < v.length; i += 2) {
    const x = v[i], y = v[i + 1];
    v[i] = (x * a + y * im) / size;
    v[i + 1] = (y * a - x * im) / size;
  }
  return [head, { v, re: (head - re) / head, im: im / head }];
}

/** The adjoint, which is the inverse. */
export const back = ({ v, re, im }: ComplexReflection): ComplexReflection => ({ v, re, im: -im });

/** Multiplies the part from the left; the vector is as long as its columns. */
export function reflectLeft(
  { a, width, top, bottom, left, right }: Part,
  { v, re, im }: ComplexReflection,
): void {
  if (re === 0 && im === 0) return;
  for (let j = left; j < right; j++) {
    let x = 0, y = 0;
    for (let i = top, k = 0; i < bottom; i++, k += 2) {
      const p = 2 * (i * width + j);
      x += v[k] * a[p] + v[k + 1] * a[p + 1];
      y += v[k] * a[p + 1] - v[k + 1] * a[p];
    }
    const c = re * x - im * y, d = re * y + im * x;
    for (let i = top, k = 0; i < bottom; i++, k += 2) {
      const p = 2 * (i * width + j);
      a[p] -= v[k] * c - v[k + 1] * d;
      a[p + 1] -= v[k] * d + v[k + 1] * c;
    }
  }
}

/** Multiplies the part by the adjoint from the right; the vector is as long as its rows. */
export function reflectRight(
  { a, width, top, bottom, left, right }: Part,
  { v, re, im }: ComplexReflection,
): void {
  if (re === 0 && im === 0) return;
  for (let i = top; i < bottom; i++) {
    const first = 2 * (i * width + left), last = 2 * (i * width + right);
    let x = 0, y = 0;
    for (let p = first, k = 0; p < last; p += 2, k += 2) {
      x += v[k] * a[p] - v[k + 1] * a[p + 1];
      y += v[k] * a[p + 1] + v[k + 1] * a[p];
    }
    const c = re * x + im * y, d = re * y - im * x;
    for (let p = first, k = 0; p < last; p += 2, k += 2) {
      a[p] -= c * v[k] + d * v[k + 1];
      a[p + 1] -= d * v[k] - c * v[k + 1];
    }
  }
}

/** Takes a column of a matrix from a row on. */
export function columnOf(
  a: Float64Array,
  width: number,
  j: number,
  top: number,
  bottom: number,
): Float64Array {
  const v = new Float64Array(2 * (bottom - top));
  for (let i = top; i < bottom; i++) {
    v[2 * (i - top)] = a[2 * (i * width + j)];
    v[2 * (i - top) + 1] = a[2 * (i * width + j) + 1];
  }
  return v;
}

/** Multiplies `a` by the adjoints of reflections from the left, the last one first; reflection k begins at row `k + shift`. */
export function unfoldComplex(
  a: Float64Array,
  width: number,
  reflections: readonly ComplexReflection[],
  shift = 0,
): void {
  const bottom = a.length / 2 / width;
  for (let k = reflections.length - 1; k >= 0; k--) {
    const part = { a, width, top: k + shift, bottom, left: 0, right: width };
    reflectLeft(part, back(reflections[k]));
  }
}
