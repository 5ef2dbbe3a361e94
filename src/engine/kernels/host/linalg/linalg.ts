/** Dense linear algebra on the host: QR, triangular systems, bands of matrices. Sums in float64. */
import { DTYPES, isBigInt } from "../../../core/dtype.ts";
import { type NdArray, setElement } from "../../../core/nd_array.ts";
import { sizeOf } from "../../../core/shape.ts";
import { batchPairs } from "../../matmul/shape.ts";
import type { Numbers } from "../matmul.ts";
import { scratchFor, settle } from "../numbers.ts";
import { reflectColumns } from "./reflections.ts";

/** Returns the extents of the last two axes, and the number of matrices. */
export function matrices(x: NdArray): { rows: number; columns: number; count: number } {
  const [rows, columns] = x.shape.slice(-2);
  return { rows, columns, count: sizeOf(x.shape.slice(0, -2)) };
}

/**
 * Computes QR by Householder reflections, one for every column: diagonal elements of R have the opposite sign of the
 * elements they replace. `q` is `[rows, k]` and `r` `[k, columns]`; `k` follows from their shapes.
 */
export function qrCpu(x: NdArray, q: NdArray, r: NdArray): void {
  const { rows: m, columns: n, count } = matrices(x);
  const k = q.shape[q.shape.length - 1];
  const steps = Math.min(m, n);
  const a = new Float64Array(m * n), full = new Float64Array(m * k);
  const vectors = new Float64Array(steps * m), by = new Float64Array(steps);
  const sums = new Float64Array(Math.max(n, k));
  const from = x.data as Numbers, toQ = q.data as Numbers, toR = r.data as Numbers;
  for (let z = 0; z < count; z++) {
    for (let i = 0; i < m * n; i++) a[i] = from[z * m * n + i];
    for (let j = 0; j < steps; j++) {
      const v = vectors.subarray(j * m, (j + 1) * m);
      let square = 0;
      for (let i = j; i < m; i++) {
        v[i] = a[i * n + j];
        square += v[i] * v[i];
      }
      by[j] = 0;
      if (square === 0) continue;
      const norm = Math.sqrt(square), head = v[j], alpha = head > 0 ? -norm : norm;
      v[j] = head - alpha;
      by[j] = 2 / (square - head * head + v[j] * v[j]);
      reflectColumns({ a, width: n, top: j, bottom: m, left: j + 1, right: n }, v, by[j], sums);
      a[j * n + j] = alpha;
      for (let i = j + 1; i < m; i++) a[i * n + j] = 0;
    }
    full.fill(0);
    for (let i = 0; i < k; i++) full[i * (k + 1)] = 1;
    for (let j = steps - 1; j >= 0; j--) {
      const part = { a: full, width: k, top: j, bottom: m, left: j, right: k };
      reflectColumns(part, vectors.subarray(j * m, (j + 1) * m), by[j], sums);
    }
    for (let i = 0; i < m * k; i++) toQ[z * m * k + i] = full[i];
    for (let i = 0; i < k; i++) {
      for (let j = 0; j < n; j++) {
        toR[(z * k + i) * n + j] = j < i ? 0 : a[i * n + j];
      }
    }
  }
}

/** Solves `A · X = B`, or `Aᵀ · X = B`, for triangular A: `[..., n, n]` and `[..., n, k]`, whose batches broadcast. */
export function triangularSolveCpu(
  matrix: NdArray,
  rhs: NdArray,
  out: NdArray,
  lower: boolean,
  adjoint: boolean,
): void {
  const { rows: n, columns: k } = matrices(rhs);
  const pairs = batchPairs(matrix.shape, rhs.shape, out.shape);
  const a = matrix.data as Numbers, b = rhs.data as Numbers, x = scratchFor(out);
  const down = lower !== adjoint;
  const row = new Float64Array(k);
  pairs.forEach((pair, z) => {
    const at = pair.a * n * n, right = pair.b * n * k, to = z * n * k;
    for (let s = 0; s < n; s++) {
      const i = down ? s : n - 1 - s;
      for (let c = 0; c < k; c++) row[c] = b[right + i * k + c];
      for (let t = 0; t < s; t++) {
        const j = down ? t : n - 1 - t;
        const f = a[at + (adjoint ? j * n + i : i * n + j)];
        for (let c = 0; c < k; c++) row[c] -= f * x[to + j * k + c];
      }
      const d = a[at + i * n + i];
      for (let c = 0; c < k; c++) x[to + i * k + c] = row[c] / d;
    }
  });
  settle(x, out);
}

/** Keeps `lower` diagonals below the main one and `upper` above it; negative numbers keep all. */
export function bandPartCpu(x: NdArray, out: NdArray, lower: number, upper: number): void {
  const { rows, columns, count } = matrices(x);
  const real = isBigInt(x.dtype) ? 0n : 0;
  const zero = DTYPES[x.dtype].kind === "complex" ? [0, 0] as const : real;
  let at = 0;
  for (let z = 0; z < count; z++) {
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++, at++) {
        const inside = (lower < 0 || i - j <= lower) && (upper < 0 || j - i <= upper);
        setElement(out, at, inside ? x.at(at) : zero);
      }
    }
  }
}
