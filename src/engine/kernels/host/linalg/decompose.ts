/**
 * Singular values, eigenvalues of symmetric matrices and triangular factors on the host, by Jacobi's rotations and by
 * elimination with pivots. In float64.
 */
import { InvalidArgumentError } from "../../../core/errors.ts";
import type { NdArray } from "../../../core/nd_array.ts";
import type { Numbers } from "../matmul.ts";
import { setWhole } from "../numbers.ts";
import { matrices } from "./linalg.ts";
import { eliminate, rowsOf } from "./solve.ts";

/** Sweeps over all pairs: Jacobi's methods converge quadratically, in about ten. */
const MOST_SWEEPS = 60;
const EPSILON = 2 ** -52;

const dot = (a: Float64Array, b: Float64Array): number =>
  a.reduce((sum, v, i) => sum + v * b[i], 0);

function rotate(a: Float64Array, b: Float64Array, c: number, s: number): void {
  for (let i = 0; i < a.length; i++) {
    const x = a[i], y = b[i];
    a[i] = c * x - s * y;
    b[i] = s * x + c * y;
  }
}

/** Returns cosine and sine of the smaller angle that makes `[[p, q], [q, r]]` diagonal. */
function angle(p: number, q: number, r: number): readonly [number, number] {
  const tau = (r - p) / (2 * q), t = (tau < 0 ? -1 : 1) / (Math.abs(tau) + Math.hypot(1, tau));
  const c = 1 / Math.hypot(1, t);
  return [c, c * t];
}

const unit = (n: number, i: number): Float64Array => new Float64Array(n).fill(1, i, i + 1);

/** Calls `turn` for all pairs until no call rotates. */
function sweep(n: number, turn: (i: number, j: number) => boolean): void {
  for (let round = 0, moved = true; moved && round < MOST_SWEEPS; round++) {
    moved = false;
    for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) moved = turn(i, j) || moved;
  }
}

/** Adds orthogonal vectors until there are `count`. */
function complete(basis: Float64Array[], n: number, count: number): void {
  for (let i = 0; i < n && basis.length < count; i++) {
    const v = unit(n, i);
    // Twice is enough (Kahan, in Parlett, "The symmetric eigenvalue problem", 1980).
    for (let twice = 0; twice < 2; twice++) {
      for (const b of basis) {
        const along = dot(v, b);
        for (let k = 0; k < n; k++) v[k] -= along * b[k];
      }
    }
    const size = Math.sqrt(dot(v, v));
    // Some unit vector lies at least as far from the span of the others.
    if (size >= 0.5 / Math.sqrt(n)) basis.push(v.map((x) => x / size));
  }
}

/**
 * Orthogonalizes columns: returns those of one side with their lengths, the longest first, and the other side's columns
 * in the same order: Hestenes (1958).
 */
function hestenes(
  columns: Float64Array[],
): { left: Float64Array[]; right: Float64Array[]; sizes: number[] } {
  const right = columns.map((_, i) => unit(columns.length, i));
  sweep(columns.length, (i, j) => {
    const p = dot(columns[i], columns[i]), r = dot(columns[j], columns[j]);
    const q = dot(columns[i], columns[j]);
    if (q === 0 || Math.abs(q) <= EPSILON * Math.sqrt(p * r)) return false;
    const [c, s] = angle(p, q, r);
    rotate(columns[i], columns[j], c, s);
    rotate(right[i], right[j], c, s);
    return true;
  });
  const sizes = columns.map((v) => Math.sqrt(dot(v, v)));
  const order = sizes.map((_, i) => i).sort((a, b) => sizes[b] - sizes[a]);
  const sorted = order.map((i) => sizes[i]);
  // A column that is negligible beside the largest has no direction.
  const isThere = (size: number): boolean => size > sorted[0] * EPSILON * columns.length;
  const left = order.filter((i) => isThere(sizes[i])).map((i) =>
    columns[i].map((v) => v / sizes[i])
  );
  return { left, right: order.map((i) => right[i]), sizes: sorted };
}

function isFinite(x: Numbers, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (!Number.isFinite(x[i])) return false;
  return true;
}

/** Writes vectors as the columns of matrix `z`. */
function putColumns(columns: readonly Float64Array[], out: NdArray, z: number): void {
  const [rows, width] = out.shape.slice(-2), to = out.data as Numbers;
  for (let j = 0; j < width; j++) {
    for (let i = 0; i < rows; i++) to[(z * rows + i) * width + j] = columns[j][i];
  }
}

/** Computes singular values, descending, and where wanted the vectors of both sides, as many as their shapes hold. */
export function svdCpu(x: NdArray, s: NdArray, sides: readonly [NdArray, NdArray] | null): void {
  const { rows: m, columns: n, count } = matrices(x);
  const from = x.data as Numbers, values = s.data as Numbers;
  const isTall = m >= n, [long, short] = isTall ? [m, n] : [n, m];
  for (let z = 0; z < count; z++) {
    const at = z * m * n;
    if (!isFinite(from, at, at + m * n)) {
      for (const out of [s, ...sides ?? []]) fillMatrix(out, z, count);
      continue;
    }
    const columns = Array.from({ length: short }, (_, j) =>
      Float64Array.from(
        { length: long },
        (_, i) => from[at + (isTall ? i * n + j : j * n + i)],
      ));
    const { left, right, sizes } = hestenes(columns);
    sizes.forEach((v, i) => values[z * short + i] = v);
    if (sides === null) continue;
    const [u, v] = isTall ? sides : [sides[1], sides[0]];
    complete(left, long, u.shape[u.shape.length - 1]);
    putColumns(left, u, z);
    putColumns(right, v, z);
  }
}

/** Fills one of `count` parts with NaN. */
function fillMatrix(out: NdArray, z: number, count: number): void {
  const size = out.size / count;
  (out.data as Float32Array).fill(NaN, z * size, (z + 1) * size);
}

/** Computes eigenvalues of symmetric matrices, ascending, from the lower triangles, and their vectors where wanted. */
export function eighCpu(x: NdArray, e: NdArray, vectors: NdArray | null): void {
  const { rows: n, count } = matrices(x), from = x.data as Numbers, values = e.data as Numbers;
  for (let z = 0; z < count; z++) {
    const at = z * n * n;
    const a = Array.from(
      { length: n },
      (_, i) =>
        Float64Array.from({ length: n }, (_, j) => from[at + Math.max(i, j) * n + Math.min(i, j)]),
    );
    if (!a.every((row) => row.every(Number.isFinite))) {
      for (const out of vectors ? [e, vectors] : [e]) fillMatrix(out, z, count);
      continue;
    }
    const v = a.map((_, i) => unit(n, i));
    sweep(n, (i, j) => {
      const size = EPSILON * Math.sqrt(Math.abs(a[i][i] * a[j][j]));
      if (a[i][j] === 0 || Math.abs(a[i][j]) <= size * 2 ** -10) return false;
      const [c, s] = angle(a[i][i], a[i][j], a[j][j]);
      rotate(a[i], a[j], c, s);
      for (const row of a) {
        const p = row[i], q = row[j];
        row[i] = c * p - s * q;
        row[j] = s * p + c * q;
      }
      a[i][j] = a[j][i] = 0;
      rotate(v[i], v[j], c, s);
      return true;
    });
    const order = a.map((_, i) => i).sort((i, j) => a[i][i] - a[j][j]);
    order.forEach((i, k) => values[z * n + k] = a[i][i]);
    if (vectors !== null) putColumns(order.map((i) => v[i]), vectors, z);
  }
}

/**
 * Computes both triangular factors of each matrix in one, without L's diagonal of ones, and the permutation of rows, by
 * elimination with the largest pivot of each column. Throws `InvalidArgumentError` for a singular matrix.
 */
export function luCpu(x: NdArray, lu: NdArray, p: NdArray): void {
  const { rows: n, count } = matrices(x), to = lu.data as Numbers;
  for (let z = 0; z < count; z++) {
    const rows = rowsOf(x, z), given = [...rows];
    if (eliminate(rows) === 0) throw new InvalidArgumentError("Input is not invertible.");
    rows.forEach((row, k) => {
      row.forEach((v, j) => to[(z * n + k) * n + j] = v);
      setWhole(p, z * n + k, given.indexOf(row));
    });
  }
}
