/**
 * Linear systems on the host: elimination with the largest pivot of each column, and Cholesky factors. Sums in float64.
 */
import { InvalidArgumentError } from "../../../core/errors.ts";
import type { NdArray } from "../../../core/nd_array.ts";
import type { Numbers } from "../matmul.ts";
import { matrices } from "./linalg.ts";

/** Copies the rows of a matrix, or of its transpose, with room for `more` columns beside each. */
export function rowsOf(
  x: NdArray,
  z: number,
  { adjoint = false, more = 0 }: { readonly adjoint?: boolean; readonly more?: number } = {},
): Float64Array[] {
  const { rows: n } = matrices(x), from = x.data as Numbers;
  return Array.from({ length: n }, (_, i) => {
    const row = new Float64Array(n + more);
    for (let j = 0; j < n; j++) row[j] = from[z * n * n + (adjoint ? j * n + i : i * n + j)];
    return row;
  });
}

/**
 * Reduces the rows to an upper triangle, with the elimination factors below it. Returns 1 where the determinant keeps
 * its sign, -1 where it changes, 0 for a singular matrix.
 */
export function eliminate(rows: Float64Array[]): number {
  const n = rows.length;
  let sign = 1;
  for (let c = 0; c < n; c++) {
    let pivot = c;
    for (let i = c + 1; i < n; i++) {
      if (Math.abs(rows[i][c]) > Math.abs(rows[pivot][c])) pivot = i;
    }
    if (pivot !== c) {
      [rows[c], rows[pivot]] = [rows[pivot], rows[c]];
      sign = -sign;
    }
    if (rows[c][c] === 0) return 0;
    for (let i = c + 1; i < n; i++) {
      const factor = rows[i][c] /= rows[c][c];
      for (let j = c + 1; j < rows[i].length; j++) rows[i][j] -= factor * rows[c][j];
    }
  }
  return sign;
}

/** Solves for the columns beside the matrix, and writes them from `at` on. Throws `InvalidArgumentError` for a singular matrix. */
export function solveRows(rows: Float64Array[], to: Numbers, at: number, error: string): void {
  const n = rows.length;
  if (eliminate(rows) === 0) throw new InvalidArgumentError(error);
  for (let i = n - 1; i >= 0; i--) {
    const k = rows[i].length - n;
    for (let j = n; j < n + k; j++) {
      for (let c = i + 1; c < n; c++) rows[i][j] -= rows[i][c] * rows[c][j];
      to[at + i * k + j - n] = rows[i][j] /= rows[i][i];
    }
  }
}

/**
 * Solves `A · X = B`, or `Aᵀ · X = B`: `[..., n, n]` and `[..., n, k]`; without B, X is the inverse. Throws
 * `InvalidArgumentError` for a singular matrix.
 */
export function solveCpu(
  matrix: NdArray,
  rhs: NdArray | null,
  out: NdArray,
  adjoint: boolean,
): void {
  const { rows: n, count } = matrices(matrix), k = out.shape[out.shape.length - 1];
  const b = rhs?.data as Numbers | undefined;
  const error = b ? "Input matrix is not invertible" : "Input is not invertible";
  for (let z = 0; z < count; z++) {
    const rows = rowsOf(matrix, z, { adjoint, more: k });
    rows.forEach((row, i) => {
      for (let j = 0; j < k; j++) row[n + j] = b ? b[(z * n + i) * k + j] : Number(i === j);
    });
    solveRows(rows, out.data as Numbers, z * n * k, error);
  }
}

/**
 * Computes determinants of `[..., n, n]`; where `log` is given, their signs and the logarithms of their absolute
 * values.
 */
export function determinantCpu(x: NdArray, out: NdArray, log: NdArray | null): void {
  const { rows: n, count } = matrices(x), to = out.data as Numbers;
  for (let z = 0; z < count; z++) {
    const rows = rowsOf(x, z);
    let sign = eliminate(rows), size = sign === 0 ? -Infinity : 0;
    if (log === null) {
      for (let i = 0; i < n && sign !== 0; i++) sign *= rows[i][i];
      to[z] = sign;
      continue;
    }
    for (let i = 0; i < n && size !== -Infinity; i++) {
      // NaN has no sign, and stays.
      sign *= rows[i][i] < 0 ? -1 : rows[i][i] > 0 ? 1 : NaN;
      size += Math.log(Math.abs(rows[i][i]));
    }
    to[z] = sign;
    (log.data as Numbers)[z] = size;
  }
}

/** Computes lower triangles L of `L · Lᵀ` for `[..., n, n]`, from the lower triangles; NaN where there is none. */
export function choleskyCpu(x: NdArray, out: NdArray): void {
  const { rows: n, count } = matrices(x), to = out.data as Numbers;
  for (let z = 0; z < count; z++) {
    const rows = rowsOf(x, z);
    let fails = false;
    for (let j = 0; j < n; j++) {
      let d = rows[j][j];
      for (let c = 0; c < j; c++) d -= rows[j][c] * rows[j][c];
      fails ||= !(d > 0);
      rows[j][j] = Math.sqrt(d);
      for (let i = j + 1; i < n; i++) {
        let v = rows[i][j];
        for (let c = 0; c < j; c++) v -= rows[i][c] * rows[j][c];
        rows[i][j] = v / rows[j][j];
      }
    }
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        to[(z * n + i) * n + j] = j > i ? 0 : fails ? NaN : rows[i][j];
      }
    }
  }
}
