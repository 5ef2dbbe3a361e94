/** Eigenvectors of real matrices on the host, from their triangles by back-substitution. In float64. */
import type { RealRoom } from "./real_eig.ts";

const EPSILON = 2 ** -52;

/** A vector in the making: its parts, and what a block of two rows waits with. */
interface Vector {
  readonly re: Float64Array;
  readonly im: Float64Array;
}

/** A quotient of complex numbers, without overflow of squares: R. Smith (1962). */
function quotient(a: number, b: number, c: number, d: number): [re: number, im: number] {
  if (Math.abs(c) > Math.abs(d)) {
    const r = d / c, s = c + r * d;
    return [(a + r * b) / s, (b - r * a) / s];
  }
  const r = c / d, s = d + r * c;
  return [(r * a + b) / s, (r * b - a) / s];
}

/** Shortens the elements from `i` to `k` where they have become too long. */
function shorten(x: Float64Array, y: Float64Array | null, i: number, k: number): void {
  const size = Math.max(Math.abs(x[i]), y === null ? 0 : Math.abs(y[i]));
  if (EPSILON * size * size <= 1) return;
  for (let j = i; j <= k; j++) {
    x[j] /= size;
    if (y !== null) y[j] /= size;
  }
}

/** Solves for the vector of the real value at `k`. */
function realVector({ n, h, re, im }: RealRoom, k: number, norm: number, x: Float64Array): void {
  const value = re[k];
  x[k] = 1;
  let from = k, below = 0, rest = 0;
  for (let i = k - 1; i >= 0; i--) {
    const own = h[i * n + i] - value;
    let sum = 0;
    for (let j = from, at = i * n + from; j <= k; j++) sum += h[at++] * x[j];
    if (im[i] < 0) {
      below = own;
      rest = sum;
      continue;
    }
    from = i;
    if (im[i] === 0) x[i] = -sum / (Math.abs(own) <= EPSILON * norm ? EPSILON * norm : own);
    else {
      const above = h[i * n + i + 1], beside = h[(i + 1) * n + i];
      const t = (above * rest - below * sum) / ((re[i] - value) ** 2 + im[i] ** 2);
      x[i] = t;
      x[i + 1] = Math.abs(above) > Math.abs(below)
        ? (-sum - own * t) / above
        : (-rest - beside * t) / below;
    }
    shorten(x, null, i, k);
  }
}

/** Solves for the vector of the first of the pair at `k` and `k + 1`. */
function pairVector(
  { n, h, re, im }: RealRoom,
  k: number,
  norm: number,
  { re: x, im: y }: Vector,
): void {
  const last = k + 1, value = re[k], q = im[last];
  const above = h[k * n + last], beside = h[last * n + k];
  if (Math.abs(beside) > Math.abs(above)) {
    x[k] = q / beside;
    y[k] = -(h[last * n + last] - value) / beside;
  } else [x[k], y[k]] = quotient(0, -above, h[k * n + k] - value, q);
  x[last] = 0;
  y[last] = 1;
  let from = k, below = 0, restRe = 0, restIm = 0;
  for (let i = k - 1; i >= 0; i--) {
    const own = h[i * n + i] - value;
    let a = 0, b = 0;
    for (let j = from, at = i * n + from; j <= last; j++) {
      const v = h[at++];
      a += v * x[j];
      b += v * y[j];
    }
    if (im[i] < 0) {
      below = own;
      restRe = a;
      restIm = b;
      continue;
    }
    from = i;
    if (im[i] === 0) [x[i], y[i]] = quotient(-a, -b, own, q);
    else {
      const right = h[i * n + i + 1], under = h[(i + 1) * n + i];
      let c = (re[i] - value) ** 2 + im[i] ** 2 - q * q;
      const d = (re[i] - value) * 2 * q;
      if (c === 0 && d === 0) {
        const sizes = [own, q, right, under, below].map(Math.abs);
        c = EPSILON * norm * sizes.reduce((s, v) => s + v);
      }
      const top = right * restRe - below * a + q * b, side = right * restIm - below * b - q * a;
      [x[i], y[i]] = quotient(top, side, c, d);
      if (Math.abs(right) > Math.abs(below) + Math.abs(q)) {
        x[i + 1] = (-a - own * x[i] + q * y[i]) / right;
        y[i + 1] = (-b - own * y[i] - q * x[i]) / right;
      } else {
        [x[i + 1], y[i + 1]] = quotient(
          -restRe - under * x[i],
          -restIm - under * y[i],
          below,
          q,
        );
      }
    }
    shorten(x, y, i, last);
  }
}

/** Multiplies the first `count` columns of a matrix by a vector. */
function product(z: Float64Array, n: number, x: Float64Array, count: number, out: Float64Array) {
  const pairs = n & ~1;
  for (let i = 0; i < pairs; i += 2) {
    let p = i * n, q = p + n, a = 0, b = 0;
    for (let j = 0; j < count; j++) {
      const v = x[j];
      a += z[p++] * v;
      b += z[q++] * v;
    }
    out[i] = a;
    out[i + 1] = b;
  }
  if (pairs === n) return;
  let a = 0;
  for (let j = 0, p = pairs * n; j < count; j++) a += z[p++] * x[j];
  out[pairs] = a;
}

/** Makes a vector's length 1 and its largest element real, as LAPACK has it. */
function normalize({ re, im }: Vector): void {
  const n = re.length;
  let square = 0, most = 0, lead = 0;
  for (let i = 0; i < n; i++) {
    const size = re[i] * re[i] + im[i] * im[i];
    square += size;
    if (size > most * (1 + 2e-9)) [most, lead] = [size, i];
  }
  const by = 1 / Math.sqrt(square * most), a = re[lead] * by, b = -im[lead] * by;
  for (let i = 0; i < n; i++) {
    const x = re[i], y = im[i];
    re[i] = a * x - b * y;
    im[i] = a * y + b * x;
  }
  im[lead] = 0;
}

/** Calls `put` with each vector and its column. The room holds a triangle and its basis. */
export function realVectors(room: RealRoom, put: (vector: Vector, column: number) => void): void {
  const { n, h, im, z } = room;
  const [x, y, re, other] = Array.from({ length: 4 }, () => new Float64Array(n));
  let norm = 0;
  for (let i = 0; i < n * n; i++) norm = Math.max(norm, Math.abs(h[i]));
  // Of a matrix of zeros, any vectors are.
  norm ||= 1;
  for (let k = 0; k < n; k++) {
    if (im[k] === 0) {
      realVector(room, k, norm, x);
      product(z, n, x, k + 1, re);
      other.fill(0);
      normalize({ re, im: other });
      put({ re, im: other }, k);
      continue;
    }
    pairVector(room, k, norm, { re: x, im: y });
    product(z, n, x, k + 2, re);
    product(z, n, y, k + 2, other);
    normalize({ re, im: other });
    put({ re, im: other }, k);
    for (let i = 0; i < n; i++) other[i] = -other[i];
    put({ re, im: other }, ++k);
  }
}
