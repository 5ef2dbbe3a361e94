/**
 * Reflections and rotations of matrices by rows, four rows at a time: a row's loads are shared, and four sums wait for each other
 * less than one. In float64.
 */

import type { Numbers } from "../matmul.ts";

/** A part of a matrix by rows: rows `top` to `bottom` and columns `left` to `right`, the last ones excluded. */
export interface Part {
  readonly a: Float64Array;
  /** Elements from a row to the next. */
  readonly width: number;
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
}

/**
 * Makes of the elements of `u` from `first` to `end` the vector whose reflection leaves only the first of them. Returns what that
 * becomes, and two over the square of the vector's length; 0 for a reflection that does nothing.
 */
export function reflector(u: Float64Array, first: number, end: number): [head: number, by: number] {
  let rest = 0;
  for (let i = first + 1; i < end; i++) rest += u[i] * u[i];
  const head = u[first];
  if (rest === 0) return [head, 0];
  const norm = Math.sqrt(head * head + rest), to = head > 0 ? -norm : norm;
  u[first] = head - to;
  return [to, 2 / (u[first] * u[first] + rest)];
}

/** Reflects the columns of a part: `a -= by · u · (uᵀ a)`, where `u` has an element for each row from `top` on. `sums` is scratch. */
export function reflectColumns(
  { a, width, top, bottom, left, right }: Part,
  u: Float64Array,
  by: number,
  sums: Float64Array,
): void {
  if (by === 0) return;
  sums.fill(0, left, right);
  const fours = top + (bottom - top & ~3);
  for (let i = top; i < fours; i += 4) {
    const u0 = u[i], u1 = u[i + 1], u2 = u[i + 2], u3 = u[i + 3];
    let p = i * width + left, q = p + width, r = q + width, s = r + width;
    for (let j = left; j < right; j++) {
      sums[j] += u0 * a[p++] + u1 * a[q++] + (u2 * a[r++] + u3 * a[s++]);
    }
  }
  for (let i = fours; i < bottom; i++) {
    const v = u[i];
    for (let j = left, p = i * width + left; j < right; j++) sums[j] += v * a[p++];
  }
  for (let i = top; i < fours; i += 4) {
    const u0 = by * u[i], u1 = by * u[i + 1], u2 = by * u[i + 2], u3 = by * u[i + 3];
    let p = i * width + left, q = p + width, r = q + width, s = r + width;
    for (let j = left; j < right; j++) {
      const v = sums[j];
      a[p++] -= u0 * v;
      a[q++] -= u1 * v;
      a[r++] -= u2 * v;
      a[s++] -= u3 * v;
    }
  }
  for (let i = fours; i < bottom; i++) {
    const v = by * u[i];
    for (let j = left, p = i * width + left; j < right; j++) a[p++] -= v * sums[j];
  }
}

/** Reflects the rows of a part: `a -= by · (a u) · uᵀ`, where `u` has an element for each column from `left` on. */
export function reflectRows(
  { a, width, top, bottom, left, right }: Part,
  u: Float64Array,
  by: number,
): void {
  if (by === 0) return;
  const fours = top + (bottom - top & ~3);
  for (let i = top; i < fours; i += 4) {
    let p = i * width + left, q = p + width, r = q + width, s = r + width;
    let w0 = 0, w1 = 0, w2 = 0, w3 = 0;
    for (let j = left; j < right; j++) {
      const v = u[j];
      w0 += v * a[p++];
      w1 += v * a[q++];
      w2 += v * a[r++];
      w3 += v * a[s++];
    }
    w0 *= by, w1 *= by, w2 *= by, w3 *= by;
    p = i * width + left, q = p + width, r = q + width, s = r + width;
    for (let j = left; j < right; j++) {
      const v = u[j];
      a[p++] -= w0 * v;
      a[q++] -= w1 * v;
      a[r++] -= w2 * v;
      a[s++] -= w3 * v;
    }
  }
  for (let i = fours; i < bottom; i++) {
    let w = 0;
    for (let j = left, p = i * width + left; j < right; j++) w += u[j] * a[p++];
    w *= by;
    for (let j = left, p = i * width + left; j < right; j++) a[p++] -= w * u[j];
  }
}

/** Rotations of neighbouring columns, one after the other: each of the column that the last one left and the next. */
export interface Turns {
  readonly c: Float64Array;
  readonly s: Float64Array;
  count: number;
  /** The first column. */
  from: number;
  /** 1 where the columns ascend, -1 where they descend. */
  step: number;
}

/** Makes room for rotations of `n` columns. */
export function turnsOf(n: number): Turns {
  return { c: new Float64Array(n), s: new Float64Array(n), count: 0, from: 0, step: 1 };
}

/**
 * Rotates the columns of `rows` rows: `(x, y)` becomes `(c x + s y, c y - s x)`. All rotations of a row are done before the next row,
 * so that each of its elements is read and written once.
 */
export function turnColumns(
  a: Float64Array,
  rows: number,
  width: number,
  { c, s, count, from, step }: Turns,
): void {
  const fours = rows & ~3;
  for (let i = 0; i < fours; i += 4) {
    let p = i * width + from, q = p + width, r = q + width, t = r + width;
    let x0 = a[p], x1 = a[q], x2 = a[r], x3 = a[t];
    for (let k = 0; k < count; k++) {
      const cos = c[k], sin = s[k];
      const y0 = a[p + step], y1 = a[q + step], y2 = a[r + step], y3 = a[t + step];
      a[p] = cos * x0 + sin * y0;
      a[q] = cos * x1 + sin * y1;
      a[r] = cos * x2 + sin * y2;
      a[t] = cos * x3 + sin * y3;
      x0 = cos * y0 - sin * x0;
      x1 = cos * y1 - sin * x1;
      x2 = cos * y2 - sin * x2;
      x3 = cos * y3 - sin * x3;
      p += step, q += step, r += step, t += step;
    }
    a[p] = x0, a[q] = x1, a[r] = x2, a[t] = x3;
  }
  for (let i = fours; i < rows; i++) {
    let p = i * width + from, x = a[p];
    for (let k = 0; k < count; k++, p += step) {
      const cos = c[k], sin = s[k], y = a[p + step];
      a[p] = cos * x + sin * y;
      x = cos * y - sin * x;
    }
    a[p] = x;
  }
}

/** Squares below which their sum has lost digits. */
const LEAST_SQUARE = 2 ** -960;

/** The length of two numbers whose squares do not overflow. */
export function lengthOf(x: number, y: number): number {
  const square = x * x + y * y;
  return square > LEAST_SQUARE ? Math.sqrt(square) : Math.hypot(x, y);
}

/** Fills a square matrix by rows with zeros and a diagonal of ones. */
export function setIdentity(a: Float64Array, n: number): void {
  a.fill(0, 0, n * n);
  for (let i = 0; i < n; i++) a[i * (n + 1)] = 1;
}

/**
 * Returns the power of two that brings the largest size of some numbers near 1, where their squares would overflow or vanish; 1 for
 * all others, and NaN where one is not finite.
 */
export function scaleOf(x: Numbers, from: number, to: number): number {
  let most = 0;
  for (let i = from; i < to; i++) {
    const size = Math.abs(x[i]);
    if (!(size <= most)) most = size;
    if (size !== size) return NaN;
  }
  if (most === Infinity) return NaN;
  if (most === 0 || (most < 2 ** 300 && most > 2 ** -300)) return 1;
  return 2 ** -Math.floor(Math.log2(most));
}
