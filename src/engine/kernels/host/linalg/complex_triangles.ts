/** Triangles of complex matrices on the host: Cholesky and QR factors, triangular systems. Sums in float64, elements as pairs. */
import type { NdArray } from "../../../core/nd_array.ts";
import { batchPairs } from "../../matmul/shape.ts";
import type { Numbers } from "../matmul.ts";
import {
  columnOf,
  type ComplexReflection,
  complexReflector,
  reflectLeft,
  unfoldComplex,
} from "./complex_reflections.ts";
import { matrices } from "./linalg.ts";

/** Copies one matrix of a batch. */
export function copyOf(x: NdArray, z: number, scale = 1): Float64Array {
  const { rows, columns } = matrices(x), size = 2 * rows * columns, from = x.data as Numbers;
  const a = new Float64Array(size);
  for (let i = 0; i < size; i++) a[i] = scale * from[z * size + i];
  return a;
}

/** Computes lower triangles L of `L · Lᴴ`, with real diagonals, from the lower triangles; NaN where there is none. */
export function complexCholeskyCpu(x: NdArray, out: NdArray): void {
  const { rows: n, count } = matrices(x), to = out.data as Float64Array, row = 2 * n;
  for (let z = 0; z < count; z++) {
    const a = copyOf(x, z);
    let fails = false;
    for (let j = 0; j < n; j++) {
      const own = j * row;
      let d = a[own + 2 * j];
      for (let c = own; c < own + 2 * j; c++) d -= a[c] * a[c];
      fails ||= !(d > 0);
      const root = a[own + 2 * j] = Math.sqrt(d);
      a[own + 2 * j + 1] = 0;
      for (let i = j + 1; i < n; i++) {
        const p = i * row + 2 * j;
        let re = a[p], im = a[p + 1];
        for (let c = 0; c < 2 * j; c += 2) {
          const x = a[i * row + c], y = a[i * row + c + 1], u = a[own + c], v = a[own + c + 1];
          re -= x * u + y * v;
          im -= y * u - x * v;
        }
        a[p] = re / root;
        a[p + 1] = im / root;
      }
    }
    for (let i = 0; i < n; i++) {
      if (fails) a.fill(NaN, i * row, i * row + 2 * i + 2);
      a.fill(0, i * row + 2 * i + 2, (i + 1) * row);
    }
    to.set(a, 2 * z * n * n);
  }
}

/** Computes QR by reflections; the diagonal of R is real. `q` is `[rows, k]` and `r` `[k, columns]`. */
export function complexQrCpu(x: NdArray, q: NdArray, r: NdArray): void {
  const { rows: m, columns: n, count } = matrices(x), k = q.shape[q.shape.length - 1];
  const toQ = q.data as Float64Array, toR = r.data as Float64Array;
  for (let z = 0; z < count; z++) {
    const a = copyOf(x, z), reflections: ComplexReflection[] = [];
    for (let j = 0; j < Math.min(m, n); j++) {
      const [head, reflection] = complexReflector(columnOf(a, n, j, j, m));
      reflectLeft({ a, width: n, top: j, bottom: m, left: j + 1, right: n }, reflection);
      a.set([head, 0], 2 * (j * n + j));
      for (let i = j + 1; i < m; i++) a.set([0, 0], 2 * (i * n + j));
      reflections.push(reflection);
    }
    const full = new Float64Array(2 * m * k);
    for (let i = 0; i < k; i++) full[2 * (i * k + i)] = 1;
    unfoldComplex(full, k, reflections);
    toQ.set(full, 2 * z * m * k);
    toR.set(a.subarray(0, 2 * k * n), 2 * z * k * n);
  }
}

/** Solves `A · X = B`, or `Aᴴ · X = B`, for triangular A; batches broadcast. */
export function complexTriangularSolveCpu(
  matrix: NdArray,
  rhs: NdArray,
  out: NdArray,
  lower: boolean,
  adjoint: boolean,
): void {
  const { rows: n, columns: k } = matrices(rhs), a = matrix.data as Numbers;
  const b = rhs.data as Numbers, down = lower !== adjoint, x = new Float64Array(2 * n * k);
  batchPairs(matrix.shape, rhs.shape, out.shape).forEach((pair, z) => {
    const at = (i: number, j: number): [number, number] => {
      const p = 2 * (pair.a * n * n + (adjoint ? j * n + i : i * n + j));
      return [a[p], adjoint ? -a[p + 1] : a[p + 1]];
    };
    for (let i = 0; i < x.length; i++) x[i] = b[2 * pair.b * n * k + i];
    for (let s = 0; s < n; s++) {
      const i = down ? s : n - 1 - s, own = 2 * i * k;
      for (let t = 0; t < s; t++) {
        const j = down ? t : n - 1 - t, other = 2 * j * k, [re, im] = at(i, j);
        for (let c = 0; c < 2 * k; c += 2) {
          x[own + c] -= re * x[other + c] - im * x[other + c + 1];
          x[own + c + 1] -= re * x[other + c + 1] + im * x[other + c];
        }
      }
      const [re, im] = at(i, i), size = re * re + im * im;
      for (let c = own; c < own + 2 * k; c += 2) {
        const u = x[c], v = x[c + 1];
        x[c] = (u * re + v * im) / size;
        x[c + 1] = (v * re - u * im) / size;
      }
    }
    (out.data as Float64Array).set(x, 2 * z * n * k);
  });
}
