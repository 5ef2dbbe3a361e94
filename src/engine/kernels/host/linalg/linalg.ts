/** Dense linear algebra on the host: QR, triangular systems, bands of matrices. Sums in float64. */
import { DTYPES, isBigInt } from "../../../core/dtype.ts";
import { type NdArray, setElement } from "../../../core/nd_array.ts";
import { sizeOf } from "../../../core/shape.ts";
import { batchPairs } from "../../matmul/shape.ts";
import type { Numbers } from "../matmul.ts";
import { scratchFor, settle } from "../numbers.ts";

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
  const a = new Float64Array(m * n), full = new Float64Array(m * m), v = new Float64Array(m);
  const from = x.data as Numbers, toQ = q.data as Numbers, toR = r.data as Numbers;
  for (let z = 0; z < count; z++) {
    for (let i = 0; i < m * n; i++) a[i] = from[z * m * n + i];
    full.fill(0);
    for (let i = 0; i < m; i++) full[i * m + i] = 1;
    for (let j = 0; j < steps; j++) {
      let norm = 0;
      for (let i = j; i < m; i++) norm += a[i * n + j] ** 2;
      norm = Math.sqrt(norm);
      if (norm === 0) continue;
      const head = a[j * n + j], alpha = head > 0 ? -norm : norm;
      let length = 0;
      for (let i = j; i < m; i++) {
        v[i] = a[i * n + j] - (i === j ? alpha : 0);
        length += v[i] * v[i];
      }
      reflect(a, n, j, v, length);
      // Q collects the reflections from the right.
      for (let row = 0; row < m; row++) {
        let dot = 0;
        for (let i = j; i < m; i++) dot += full[row * m + i] * v[i];
        dot *= 2 / length;
        for (let i = j; i < m; i++) full[row * m + i] -= dot * v[i];
      }
      a[j * n + j] = alpha;
      for (let i = j + 1; i < m; i++) a[i * n + j] = 0;
    }
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < k; j++) toQ[(z * m + i) * k + j] = full[i * m + j];
    }
    for (let i = 0; i < k; i++) {
      for (let j = 0; j < n; j++) {
        toR[(z * k + i) * n + j] = j < i ? 0 : a[i * n + j];
      }
    }
  }
}

/** Reflects the columns from `j` on. */
function reflect(a: Float64Array, n: number, j: number, v: Float64Array, length: number): void {
  const m = v.length;
  for (let c = j; c < n; c++) {
    let dot = 0;
    for (let i = j; i < m; i++) dot += v[i] * a[i * n + c];
    dot *= 2 / length;
    for (let i = j; i < m; i++) a[i * n + c] -= dot * v[i];
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
