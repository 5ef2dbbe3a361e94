/** Complex linear systems on the host: elimination with the largest pivot of each column. Sums in float64, elements as pairs. */
import { InvalidArgumentError } from "../../../core/errors.ts";
import type { NdArray } from "../../../core/nd_array.ts";
import type { Numbers } from "../matmul.ts";
import { setWhole } from "../numbers.ts";
import { matrices } from "./linalg.ts";

/** Copies the rows of a matrix, or of its adjoint, with room for `more` columns beside each. */
function rowsOf(x: NdArray, z: number, more: number, adjoint: boolean): Float64Array[] {
  const { rows: n } = matrices(x), from = x.data as Numbers;
  return Array.from({ length: n }, (_, i) => {
    const row = new Float64Array(2 * (n + more));
    for (let j = 0; j < n; j++) {
      const at = 2 * (z * n * n + (adjoint ? j * n + i : i * n + j));
      row[2 * j] = from[at];
      row[2 * j + 1] = adjoint ? -from[at + 1] : from[at + 1];
    }
    return row;
  });
}

/** Divides element `j` of a row by a number. */
function divide(row: Float64Array, j: number, re: number, im: number): void {
  const size = re * re + im * im, a = row[2 * j], b = row[2 * j + 1];
  row[2 * j] = (a * re + b * im) / size;
  row[2 * j + 1] = (b * re - a * im) / size;
}

/** Subtracts a multiple of a row from another, from column `from` on. */
function reduce(
  row: Float64Array,
  other: Float64Array,
  from: number,
  re: number,
  im: number,
): void {
  for (let j = 2 * from; j < row.length; j += 2) {
    row[j] -= re * other[j] - im * other[j + 1];
    row[j + 1] -= re * other[j + 1] + im * other[j];
  }
}

/**
 * Reduces the rows to an upper triangle, with the elimination factors below it. Returns 1 where the determinant keeps its sign, -1 where it changes, 0 for a
 * singular matrix.
 */
function eliminate(rows: Float64Array[]): number {
  const n = rows.length,
    size = (i: number, c: number) => Math.hypot(rows[i][2 * c], rows[i][2 * c + 1]);
  let sign = 1;
  for (let c = 0; c < n; c++) {
    let pivot = c;
    for (let i = c + 1; i < n; i++) if (size(i, c) > size(pivot, c)) pivot = i;
    if (pivot !== c) {
      [rows[c], rows[pivot]] = [rows[pivot], rows[c]];
      sign = -sign;
    }
    const re = rows[c][2 * c], im = rows[c][2 * c + 1];
    if (re === 0 && im === 0) return 0;
    for (let i = c + 1; i < n; i++) {
      divide(rows[i], c, re, im);
      reduce(rows[i], rows[c], c + 1, rows[i][2 * c], rows[i][2 * c + 1]);
    }
  }
  return sign;
}

/**
 * Solves `A · X = B`, or with the adjoint of A; without B, X is the inverse. Throws `InvalidArgumentError` for a
 * singular matrix.
 */
export function complexSolveCpu(
  matrix: NdArray,
  rhs: NdArray | null,
  out: NdArray,
  adjoint: boolean,
): void {
  const { rows: n, count } = matrices(matrix), k = out.shape[out.shape.length - 1];
  const b = rhs?.data as Numbers | undefined, to = out.data as Float64Array;
  for (let z = 0; z < count; z++) {
    const rows = rowsOf(matrix, z, k, adjoint);
    rows.forEach((row, i) => {
      for (let j = 0; j < 2 * k; j++) {
        row[2 * n + j] = b ? b[2 * (z * n + i) * k + j] : Number(2 * i === j);
      }
    });
    if (eliminate(rows) === 0) {
      throw new InvalidArgumentError(`Input ${b ? "matrix " : ""}is not invertible`);
    }
    for (let i = n - 1; i >= 0; i--) {
      for (let c = i + 1; c < n; c++) {
        reduce(rows[i], rows[c], n, rows[i][2 * c], rows[i][2 * c + 1]);
      }
      const re = rows[i][2 * i], im = rows[i][2 * i + 1];
      for (let j = n; j < n + k; j++) divide(rows[i], j, re, im);
      to.set(rows[i].subarray(2 * n), 2 * (z * n + i) * k);
    }
  }
}

/**
 * Computes both triangular factors of each matrix in one, without L's diagonal of ones, and the permutation of rows. Throws
 * `InvalidArgumentError` for a singular matrix.
 */
export function complexLuCpu(x: NdArray, lu: NdArray, p: NdArray): void {
  const { rows: n, count } = matrices(x), to = lu.data as Float64Array;
  for (let z = 0; z < count; z++) {
    const rows = rowsOf(x, z, 0, false), given = [...rows];
    if (eliminate(rows) === 0) throw new InvalidArgumentError("Input is not invertible.");
    rows.forEach((row, k) => {
      to.set(row, 2 * (z * n + k) * n);
      setWhole(p, z * n + k, given.indexOf(row));
    });
  }
}

/**
 * Computes determinants of `[..., n, n]`; where `log` is given, these by their absolute values, and the logarithms of the
 * absolute values.
 */
export function complexDeterminantCpu(x: NdArray, out: NdArray, log: NdArray | null): void {
  const { rows: n, count } = matrices(x), to = out.data as Float64Array;
  for (let z = 0; z < count; z++) {
    const rows = rowsOf(x, z, 0, false), sign = eliminate(rows), all = Float64Array.of(sign, 0);
    let size = sign === 0 ? -Infinity : 0;
    for (let i = 0; i < n && sign !== 0; i++) {
      const re = rows[i][2 * i], im = rows[i][2 * i + 1], length = log ? Math.hypot(re, im) : 1;
      all.set([(all[0] * re - all[1] * im) / length, (all[0] * im + all[1] * re) / length]);
      size += Math.log(length);
    }
    to.set(all, 2 * z);
    (log?.data as Float64Array | undefined)?.set([size, 0], 2 * z);
  }
}
