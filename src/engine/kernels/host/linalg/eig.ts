/**
 * Eigenvalues and eigenvectors of complex square matrices on the host, and triangles of any: unitary reduction to Hessenberg form, QR steps with Wilkinson's shifts,
 * and back-substitution (Golub and Van Loan, "Matrix Computations", chapter 7). In pairs of float64.
 */
import { DTYPES } from "../../../core/dtype.ts";
import { InvalidArgumentError } from "../../../core/errors.ts";
import type { NdArray } from "../../../core/nd_array.ts";
import type { Numbers } from "../matmul.ts";
import { matrices } from "./linalg.ts";
import { realRoom, realTriangle } from "./real_eig.ts";
import { realVectors } from "./real_vectors.ts";
import { scaleOf } from "./reflections.ts";

const EPSILON = 2 ** -52;
/** Steps for an eigenvalue, as in LAPACK; most need two or three. */
const MOST_STEPS = 30;

/** A square complex matrix: real and imaginary parts by rows. */
export interface Complex {
  readonly n: number;
  readonly re: Float64Array;
  readonly im: Float64Array;
}

/** A matrix of zeros. */
export function matrix(n: number): Complex {
  return { n, re: new Float64Array(n * n), im: new Float64Array(n * n) };
}

function identity(n: number): Complex {
  const z = matrix(n);
  for (let i = 0; i < n; i++) z.re[i * n + i] = 1;
  return z;
}

/** A complex number. */
export type Pair = readonly [re: number, im: number];

export const at = (
  { n, re, im }: Complex,
  i: number,
  j: number,
): Pair => [re[i * n + j], im[i * n + j]];
export const times = ([a, b]: Pair, [c, d]: Pair): Pair => [a * c - b * d, a * d + b * c];
export const over = ([a, b]: Pair, [c, d]: Pair): Pair => {
  const s = c * c + d * d;
  return [(a * c + b * d) / s, (b * c - a * d) / s];
};
const size = ([a, b]: Pair): number => Math.hypot(a, b);

export function put({ n, re, im }: Complex, i: number, j: number, [a, b]: Pair): void {
  re[i * n + j] = a;
  im[i * n + j] = b;
}

export function root([a, b]: Pair): Pair {
  const r = Math.sqrt((Math.hypot(a, b) + Math.abs(a)) / 2);
  if (r === 0) return [0, 0];
  return a >= 0 ? [r, b / (2 * r)] : [Math.abs(b) / (2 * r), b < 0 ? -r : r];
}

/** A rotation: c is real. */
interface Rotation {
  readonly c: number;
  readonly s: Pair;
}

/** The rotation that turns (x, y) into (r, 0). */
function rotation(x: Pair, y: Pair): Rotation {
  const a = size(x), r = Math.hypot(a, size(y));
  if (r === 0) return { c: 1, s: [0, 0] };
  if (a === 0) return { c: 0, s: [y[0] / r, -y[1] / r] };
  const unit: Pair = [x[0] / a, x[1] / a];
  return { c: a / r, s: times(unit, [y[0] / r, -y[1] / r]) };
}

/** Rotates rows i and i + 1 of the columns from `first` on. */
function rotateRows(m: Complex, i: number, { c, s: [sr, si] }: Rotation, first: number): void {
  const { n, re, im } = m;
  for (let j = first, p = i * n + first, q = p + n; j < n; j++, p++, q++) {
    const xr = re[p], xi = im[p], yr = re[q], yi = im[q];
    re[p] = c * xr + sr * yr - si * yi;
    im[p] = c * xi + sr * yi + si * yr;
    re[q] = c * yr - sr * xr - si * xi;
    im[q] = c * yi - sr * xi + si * xr;
  }
}

/** Rotates columns i and i + 1 of the rows up to `last`, by the adjoint. */
function rotateColumns(m: Complex, i: number, { c, s: [sr, si] }: Rotation, last: number): void {
  const { n, re, im } = m;
  for (let r = 0, p = i; r <= last; r++, p += n) {
    const xr = re[p], xi = im[p], yr = re[p + 1], yi = im[p + 1];
    re[p] = c * xr + sr * yr + si * yi;
    im[p] = c * xi + sr * yi - si * yr;
    re[p + 1] = c * yr - sr * xr + si * xi;
    im[p + 1] = c * yi - sr * xi - si * xr;
  }
}

/** Makes elements below the first subdiagonal zero by rotations, which `z` collects. */
function toHessenberg(h: Complex, z: Complex): void {
  const { n } = h;
  for (let j = 0; j < n - 2; j++) {
    for (let i = n - 2; i > j; i--) {
      const turn = rotation(at(h, i, j), at(h, i + 1, j));
      if (turn.c === 1) continue;
      rotateRows(h, i, turn, j);
      rotateColumns(h, i, turn, n - 1);
      rotateColumns(z, i, turn, n - 1);
      put(h, i + 1, j, [0, 0]);
    }
  }
}

/** The eigenvalue of the last two rows' block that is nearer to its last element. */
function wilkinson(h: Complex, k: number): Pair {
  const a = at(h, k - 1, k - 1), d = at(h, k, k), bc = times(at(h, k - 1, k), at(h, k, k - 1));
  const half: Pair = [(a[0] - d[0]) / 2, (a[1] - d[1]) / 2];
  const square = times(half, half);
  let r = root([square[0] + bc[0], square[1] + bc[1]]);
  if (half[0] * r[0] + half[1] * r[1] < 0) r = [-r[0], -r[1]];
  const far: Pair = [half[0] + r[0], half[1] + r[1]];
  if (size(far) === 0) return d;
  const [x, y] = over(bc, far);
  return [d[0] - x, d[1] - y];
}

/** Makes a Hessenberg matrix upper triangular. */
function toTriangle(h: Complex, z: Complex): void {
  const { n, re, im } = h;
  for (let last = n - 1, steps = 0; last > 0;) {
    let first = last;
    for (; first > 0; first--) {
      const near = size(at(h, first, first)) + size(at(h, first - 1, first - 1));
      if (size(at(h, first, first - 1)) <= EPSILON * (near === 0 ? 1 : near)) break;
    }
    if (first > 0) put(h, first, first - 1, [0, 0]);
    if (first === last) {
      last--;
      steps = 0;
      continue;
    }
    if (steps++ === MOST_STEPS * 2) {
      throw new InvalidArgumentError("Eigen decomposition was not successful: it did not converge");
    }
    // A shift of another kind ends cycles.
    const shift: Pair = steps % 10 === 0 ? [size(at(h, last, last - 1)), 0] : wilkinson(h, last);
    for (let i = first; i <= last; i++) {
      re[i * n + i] -= shift[0];
      im[i * n + i] -= shift[1];
    }
    const turns: Rotation[] = [];
    for (let i = first; i < last; i++) {
      const turn = rotation(at(h, i, i), at(h, i + 1, i));
      turns.push(turn);
      rotateRows(h, i, turn, i);
    }
    turns.forEach((turn, k) => {
      const i = first + k;
      rotateColumns(h, i, turn, Math.min(last, i + 1));
      rotateColumns(z, i, turn, n - 1);
    });
    for (let i = first; i <= last; i++) {
      re[i * n + i] += shift[0];
      im[i * n + i] += shift[1];
    }
    // The subtraction reached the active rows alone, so what lies above them is as it was.
  }
}

/** Vectors of an upper triangular matrix, as columns, by the basis `z`. */
function vectorsOf(t: Complex, z: Complex): Complex {
  const { n } = t, out = matrix(n);
  const largest = Math.max(
    ...Array.from({ length: n * n }, (_, i) => Math.hypot(t.re[i], t.im[i])),
    0,
  );
  for (let k = 0; k < n; k++) {
    const x: Pair[] = [];
    x[k] = [1, 0];
    const value = at(t, k, k);
    for (let i = k - 1; i >= 0; i--) {
      let [a, b]: Pair = [0, 0];
      for (let j = i + 1; j <= k; j++) {
        const [c, d] = times(at(t, i, j), x[j]);
        a -= c;
        b -= d;
      }
      const own = at(t, i, i);
      let gap: Pair = [own[0] - value[0], own[1] - value[1]];
      if (size(gap) <= EPSILON * largest) gap = [EPSILON * (largest || 1), 0];
      x[i] = over([a, b], gap);
    }
    const v: Pair[] = [];
    let norm = 0, most = 0, lead: Pair = [1, 0];
    for (let i = 0; i < n; i++) {
      let [a, b]: Pair = [0, 0];
      for (let j = 0; j <= k; j++) {
        const [c, d] = times(at(z, i, j), x[j]);
        a += c;
        b += d;
      }
      v.push([a, b]);
      norm = Math.hypot(norm, a, b);
      if (Math.hypot(a, b) > most * (1 + 1e-9)) [most, lead] = [Math.hypot(a, b), [a, b]];
    }
    // Of length 1, the largest element real, as LAPACK has it.
    const by: Pair = [lead[0] / most / norm, -lead[1] / most / norm];
    for (let i = 0; i < n; i++) put(out, i, k, times(v[i], by));
  }
  return out;
}

/** The adjoint of a matrix's inverse, by elimination with pivots. */
function inverseAdjoint(v: Complex): Complex {
  const { n } = v, a = { n, re: v.re.slice(), im: v.im.slice() }, b = identity(n);
  for (let k = 0; k < n; k++) {
    let pivot = k;
    for (let i = k + 1; i < n; i++) if (size(at(a, i, k)) > size(at(a, pivot, k))) pivot = i;
    for (let j = 0; j < n && pivot !== k; j++) {
      for (const m of [a, b]) {
        const held = at(m, k, j);
        put(m, k, j, at(m, pivot, j));
        put(m, pivot, j, held);
      }
    }
    const top = at(a, k, k);
    for (let i = 0; i < n; i++) {
      if (i === k) continue;
      const factor = over(at(a, i, k), top);
      if (size(factor) === 0) continue;
      for (const m of [a, b]) {
        for (let j = 0; j < n; j++) {
          const [x, y] = at(m, i, j), [c, d] = times(factor, at(m, k, j));
          put(m, i, j, [x - c, y - d]);
        }
      }
    }
  }
  const out = matrix(n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      const [x, y] = over(at(b, i, j), at(a, i, i));
      put(out, j, i, [x, -y]);
    }
  }
  return out;
}

/** An upper triangular matrix and a unitary one: the first between the second and its adjoint is the matrix (I. Schur). */
export interface Triangle {
  readonly t: Complex;
  readonly z: Complex;
}

/** Returns the triangle of matrix `k`; null where elements are not finite. */
export function triangleOf(x: NdArray, k: number): Triangle | null {
  const n = x.shape.at(-1)!, t = matrix(n), z = identity(n), from = x.data as Numbers;
  const { slots } = DTYPES[x.dtype];
  for (let i = 0; i < n * n; i++) {
    t.re[i] = from[slots * (k * n * n + i)];
    if (slots === 2) t.im[i] = from[slots * (k * n * n + i) + 1];
    if (!Number.isFinite(t.re[i]) || !Number.isFinite(t.im[i])) return null;
  }
  toHessenberg(t, z);
  toTriangle(t, z);
  return { t, z };
}

/** Puts the values of a matrix and, where wanted, its vectors as columns. */
type Found = (values: Complex["re"][], vectors: Complex | null) => void;

/** Finds the values and vectors of each matrix. Real ones take a path of their own, of a tenth of the work. */
function eachEigen(x: NdArray, withVectors: boolean, found: Found): void {
  const { rows: n, count } = matrices(x), { slots } = DTYPES[x.dtype], from = x.data as Numbers;
  const refuse = (): never => {
    throw new InvalidArgumentError("Input matrix contains NaN or Inf");
  };
  const room = realRoom(slots === 1 ? n : 0, withVectors);
  for (let k = 0; k < count; k++) {
    if (slots === 2) {
      const { t, z } = triangleOf(x, k) ?? refuse(),
        places = Array.from({ length: n }, (_, i) => i);
      const values = [t.re, t.im].map((part) => Float64Array.from(places, (i) => part[i * n + i]));
      found(values, withVectors ? vectorsOf(t, z) : null);
      continue;
    }
    const first = k * n * n, scale = scaleOf(from, first, first + n * n), { h, re, im } = room;
    if (Number.isNaN(scale)) refuse();
    for (let i = 0; i < n * n; i++) h[i] = scale * from[first + i];
    realTriangle(room);
    const v = withVectors ? matrix(n) : null;
    if (v !== null) {
      realVectors(room, (vector, j) => {
        for (let i = 0, at = j; i < n; i++, at += n) {
          v.re[at] = vector.re[i];
          v.im[at] = vector.im[i];
        }
      });
    }
    found(scale === 1 ? [re, im] : [re, im].map((part) => part.map((v) => v / scale)), v);
  }
}

/** Writes pairs one after the other, from a matrix or vector of `size` elements on. */
function writePairs(
  out: NdArray,
  k: number,
  size: number,
  re: Float64Array,
  im: Float64Array,
): void {
  const to = out.data as Numbers;
  for (let i = 0, at = 2 * k * size; i < size; i++) {
    to[at++] = re[i];
    to[at++] = im[i];
  }
}

/** Computes eigenvalues, and where wanted the vectors as columns. */
export function eigCpu(x: NdArray, e: NdArray, vectors: NdArray | null): void {
  const { rows: n } = matrices(x);
  let k = 0;
  eachEigen(x, vectors !== null, ([re, im], v) => {
    writePairs(e, k, n, re, im);
    if (vectors !== null && v !== null) writePairs(vectors, k, n * n, v.re, v.im);
    k++;
  });
}

/** Computes the adjoint of the inverse of the vectors that {@linkcode eigCpu} gives. */
export function eigLeftCpu(x: NdArray, left: NdArray): void {
  const { rows: n } = matrices(x);
  let k = 0;
  eachEigen(x, true, (_, v) => {
    const { re, im } = inverseAdjoint(v!);
    writePairs(left, k++, n * n, re, im);
  });
}
