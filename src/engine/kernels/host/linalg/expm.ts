/**
 * Exponentials of matrices on the host: Padé's approximant of degree 13, scaled and squared (N. Higham, "The scaling and squaring method
 * for the matrix exponential revisited", 2005). In float64.
 */
import type { NdArray } from "../../../core/nd_array.ts";
import type { Numbers } from "../matmul.ts";
import { matrices } from "./linalg.ts";
import { solveRows } from "./solve.ts";

/** The largest 1-norm that the approximant takes, table 2.3 of the paper. */
const LARGEST = 5.371920351148152;
/** Coefficients of the approximant's numerator. */
const B = [
  64764752532480000,
  32382376266240000,
  7771770303897600,
  1187353796428800,
  129060195264000,
  10559470521600,
  670442572800,
  33522128640,
  1323241920,
  40840800,
  960960,
  16380,
  182,
  1,
] as const;

function product(n: number, a: Float64Array, b: Float64Array): Float64Array {
  const c = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < n; k++) {
      const v = a[i * n + k];
      if (v === 0) continue;
      for (let j = 0; j < n; j++) c[i * n + j] += v * b[k * n + j];
    }
  }
  return c;
}

/** The sum of matrices, each times a number, and of the identity times one. */
function combined(
  n: number,
  one: number,
  ...terms: readonly (readonly [number, Float64Array])[]
): Float64Array {
  const c = new Float64Array(n * n);
  for (let i = 0; i < n; i++) c[i * n + i] = one;
  for (const [by, m] of terms) for (let i = 0; i < c.length; i++) c[i] += by * m[i];
  return c;
}

/** Computes the exponential of each matrix. */
export function expmCpu(x: NdArray, out: NdArray): void {
  const { rows: n, count } = matrices(x), from = x.data as Numbers, to = out.data as Numbers;
  for (let z = 0; z < count; z++) {
    const a = Float64Array.from({ length: n * n }, (_, i) => from[z * n * n + i]);
    const result = exponential(n, a);
    for (let i = 0; i < n * n; i++) to[z * n * n + i] = result[i];
  }
}

/**
 * Computes the exponential of each complex matrix, as that of a real one of twice its extents: a number `x + iy` stands there as
 * `[[x, -y], [y, x]]`, and sums, products and quotients of such matrices are those of the numbers.
 */
export function complexExpmCpu(x: NdArray, out: NdArray): void {
  const { rows: n, count } = matrices(x), from = x.data as Numbers, to = out.data as Numbers;
  const width = 2 * n;
  for (let z = 0; z < count; z++) {
    const a = new Float64Array(width * width), first = 2 * z * n * n;
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        const p = 2 * (i * width + j), re = from[first + 2 * (i * n + j)];
        const im = from[first + 2 * (i * n + j) + 1];
        a[p] = a[p + width + 1] = re;
        a[p + 1] = -im;
        a[p + width] = im;
      }
    }
    const result = exponential(width, a);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        const p = 2 * (i * width + j), own = first + 2 * (i * n + j);
        to[own] = result[p];
        to[own + 1] = result[p + width];
      }
    }
  }
}

function exponential(n: number, a: Float64Array): Float64Array {
  let norm = 0;
  for (let j = 0; j < n; j++) {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += Math.abs(a[i * n + j]);
    if (!(sum <= norm)) norm = sum;
  }
  if (!Number.isFinite(norm)) return a.fill(NaN);
  const squarings = Math.max(0, Math.ceil(Math.log2(norm / LARGEST)));
  const scaled = a.map((v) => v / 2 ** squarings);
  const a2 = product(n, scaled, scaled), a4 = product(n, a2, a2), a6 = product(n, a4, a2);
  const high = product(n, a6, combined(n, 0, [B[13], a6], [B[11], a4], [B[9], a2]));
  const odd = product(
    n,
    scaled,
    combined(n, B[1], [1, high], [B[7], a6], [B[5], a4], [B[3], a2]),
  );
  const upper = product(n, a6, combined(n, 0, [B[12], a6], [B[10], a4], [B[8], a2]));
  const even = combined(n, B[0], [1, upper], [B[6], a6], [B[4], a4], [B[2], a2]);
  let result = quotient(
    n,
    combined(n, 0, [1, even], [-1, odd]),
    combined(n, 0, [1, even], [1, odd]),
  );
  for (let i = 0; i < squarings; i++) result = product(n, result, result);
  return result;
}

/** Solves `a · x = b`. */
function quotient(n: number, a: Float64Array, b: Float64Array): Float64Array {
  const rows = Array.from({ length: n }, (_, i) => {
    const row = new Float64Array(2 * n);
    row.set(a.subarray(i * n, (i + 1) * n));
    row.set(b.subarray(i * n, (i + 1) * n), n);
    return row;
  });
  const x = new Float64Array(n * n);
  solveRows(rows, x, 0, "The matrix has no exponential in float64");
  return x;
}
