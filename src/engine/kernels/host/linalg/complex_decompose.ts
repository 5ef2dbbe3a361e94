/**
 * Singular values of complex matrices and eigenvalues of Hermitian ones on the host: reflections make them real matrices of two or three
 * diagonals, which the real decompositions take. In float64. As in Eigen, the first components of eigenvectors, and of the shorter side's
 * singular vectors, are real.
 */
import { NdArray } from "../../../core/nd_array.ts";
import {
  columnOf,
  type ComplexReflection,
  complexReflector,
  reflectLeft,
  reflectRight,
  unfoldComplex,
} from "./complex_reflections.ts";
import { copyOf } from "./complex_triangles.ts";
import { eighCpu, svdCpu } from "./decompose.ts";
import { matrices } from "./linalg.ts";
import { scaleOf } from "./reflections.ts";

const square = (n: number): NdArray => NdArray.zeros("float64", [n, n]);

/** Writes real numbers over a part of a complex result. */
function putValues(out: NdArray, z: number, values: NdArray, scale: number): void {
  const to = out.data as Float64Array, n = values.size;
  for (let k = 0; k < n; k++) to.set([Number(values.at(k)) / scale, 0], 2 * (z * n + k));
}

/** A complex matrix of `rows` by `width`: a real square in its upper left, ones in the diagonal beyond. */
function widen(part: NdArray, rows: number, width: number): Float64Array {
  const n = part.shape[0], a = new Float64Array(2 * rows * width), from = part.data as Float64Array;
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) a[2 * (i * width + j)] = from[i * n + j];
  }
  for (let i = n; i < width; i++) a[2 * (i * width + i)] = 1;
  return a;
}

function fillNan(outs: readonly NdArray[], z: number, count: number): void {
  for (const { data } of outs) {
    const size = data.length / count;
    (data as Float64Array).fill(NaN, z * size, (z + 1) * size);
  }
}

/** Computes eigenvalues of Hermitian matrices, ascending, from the lower triangles, and their vectors where wanted. */
export function complexEighCpu(x: NdArray, e: NdArray, vectors: NdArray | null): void {
  const { rows: n, count } = matrices(x);
  const real = square(n), values = NdArray.zeros("float64", [n]);
  const turns = vectors && square(n), to = real.data as Float64Array;
  for (let z = 0; z < count; z++) {
    const a = copyOf(x, z);
    for (let i = 0; i < n; i++) {
      a[2 * (i * n + i) + 1] = 0;
      for (let j = 0; j < i; j++) {
        const p = 2 * (i * n + j);
        a.set([a[p], -a[p + 1]], 2 * (j * n + i));
      }
    }
    const scale = scaleOf(a, 0, a.length);
    if (Number.isNaN(scale)) {
      fillNan(vectors ? [e, vectors] : [e], z, count);
      continue;
    }
    for (let i = 0; i < a.length; i++) a[i] *= scale;
    to.fill(0);
    const reflections: ComplexReflection[] = [];
    for (let i = 0; i < n; i++) {
      to[i * n + i] = a[2 * (i * n + i)];
      if (i === n - 1) break;
      const [head, reflection] = complexReflector(columnOf(a, n, i, i + 1, n));
      const rest = { a, width: n, top: i + 1, bottom: n, left: i + 1, right: n };
      reflectLeft(rest, reflection);
      reflectRight(rest, reflection);
      to[(i + 1) * n + i] = to[i * n + i + 1] = head;
      reflections.push(reflection);
    }
    eighCpu(real, values, turns);
    putValues(e, z, values, scale);
    if (vectors === null) continue;
    const all = widen(turns!, n, n);
    unfoldComplex(all, n, reflections, 1);
    (vectors.data as Float64Array).set(all, 2 * z * n * n);
  }
}

/** Copies one matrix of a batch, a wide one as its adjoint. */
function tallOf(x: NdArray, z: number, scale: number): Float64Array {
  const { rows: m, columns: n } = matrices(x), a = copyOf(x, z, scale);
  if (m >= n) return a;
  const tall = new Float64Array(a.length);
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      const p = 2 * (i * n + j);
      tall.set([a[p], -a[p + 1]], 2 * (j * m + i));
    }
  }
  return tall;
}

/** Computes singular values, descending, and where wanted the vectors of both sides, as many as their shapes hold. */
export function complexSvdCpu(
  x: NdArray,
  s: NdArray,
  sides: readonly [NdArray, NdArray] | null,
): void {
  const { rows, columns, count } = matrices(x), size = 2 * rows * columns;
  const m = Math.max(rows, columns), n = Math.min(rows, columns);
  const [long, short] = sides === null ? [] : rows >= columns ? sides : [sides[1], sides[0]];
  const real = square(n), values = NdArray.zeros("float64", [n]), to = real.data as Float64Array;
  const turns = sides && [square(n), square(n)] as const;
  for (let z = 0; z < count; z++) {
    const scale = scaleOf(x.data as Float64Array, z * size, (z + 1) * size);
    if (Number.isNaN(scale)) {
      fillNan([s, ...sides ?? []], z, count);
      continue;
    }
    const a = tallOf(x, z, scale), left: ComplexReflection[] = [], right: ComplexReflection[] = [];
    to.fill(0);
    for (let k = 0; k < n; k++) {
      const [head, reflection] = complexReflector(columnOf(a, n, k, k, m));
      reflectLeft({ a, width: n, top: k, bottom: m, left: k + 1, right: n }, reflection);
      to[k * n + k] = head;
      left.push(reflection);
      if (k === n - 1) break;
      const row = a.slice(2 * (k * n + k + 1), 2 * (k + 1) * n);
      for (let j = 1; j < row.length; j += 2) row[j] = -row[j];
      const [beside, other] = complexReflector(row);
      reflectRight({ a, width: n, top: k + 1, bottom: m, left: k + 1, right: n }, other);
      to[k * n + k + 1] = beside;
      right.push(other);
    }
    svdCpu(real, values, turns);
    putValues(s, z, values, scale);
    if (turns === null || long === undefined || short === undefined) continue;
    const width = long.shape.at(-1)!;
    const u = widen(turns[0], m, width), v = widen(turns[1], n, n);
    unfoldComplex(u, width, left);
    unfoldComplex(v, n, right, 1);
    (long.data as Float64Array).set(u, 2 * z * m * width);
    (short.data as Float64Array).set(v, 2 * z * n * n);
  }
}
