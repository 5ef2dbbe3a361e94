/**
 * Singular values, eigenvalues of symmetric matrices and triangular factors on the host: of each matrix of a batch, in the room of one.
 * In float64.
 */
import { InvalidArgumentError } from "../../../core/errors.ts";
import type { NdArray } from "../../../core/nd_array.ts";
import type { Numbers } from "../matmul.ts";
import { setWhole } from "../numbers.ts";
import { bidiagonalRoom, bidiagonalValues } from "./bidiagonal.ts";
import { matrices } from "./linalg.ts";
import { reflectColumns, reflector, scaleOf } from "./reflections.ts";
import { eliminate, rowsOf } from "./solve.ts";
import { symmetricEigen, symmetricRoom } from "./symmetric.ts";

/** A matrix of more rows than columns as a product of reflections and a triangle. */
interface Tall {
  readonly rows: number;
  readonly columns: number;
  readonly a: Float64Array;
  /** Vectors of the reflections, a row each. */
  readonly vectors: Float64Array;
  readonly by: Float64Array;
  readonly vector: Float64Array;
}

function tallOf(rows: number, columns: number): Tall {
  const [a, vectors] = [0, 1].map(() => new Float64Array(rows * columns));
  const by = new Float64Array(columns), vector = new Float64Array(rows);
  return { rows, columns, a, vectors, by, vector };
}

/** Makes the triangle of `a`, which stays in its upper rows. */
function toTriangle({ rows, columns, a, vectors, by, vector }: Tall, sums: Float64Array): void {
  for (let k = 0; k < columns; k++) {
    for (let i = k; i < rows; i++) vector[i] = a[i * columns + k];
    const [head, factor] = reflector(vector, k, rows);
    by[k] = factor;
    a[k * columns + k] = head;
    for (let i = k + 1; i < rows; i++) a[i * columns + k] = 0;
    const part = { a, width: columns, top: k, bottom: rows, left: k + 1, right: columns };
    reflectColumns(part, vector, factor, sums);
    vectors.set(vector.subarray(k), k * rows + k);
  }
}

/** Multiplies the columns of `a` by the reflections. */
function unfold({ rows, columns, vectors, by }: Tall, a: Float64Array, width: number): void {
  const sums = new Float64Array(width);
  for (let k = columns - 1; k >= 0; k--) {
    const part = { a, width, top: k, bottom: rows, left: 0, right: width };
    reflectColumns(part, vectors.subarray(k * rows, (k + 1) * rows), by[k], sums);
  }
}

/** Sizes of which the largest is more than this times the least are put in order. */
const SPREAD = 16;

/**
 * Puts indices in the order of sizes, the largest first, where these differ much: reductions from the large rows and columns to the small
 * ones keep the small ones' digits.
 */
function putInOrder(order: Uint32Array, sizes: Float64Array): void {
  const { length } = order;
  let most = 0, least = Infinity;
  for (let i = 0; i < length; i++) {
    order[i] = i;
    most = Math.max(most, sizes[i]);
    least = Math.min(least, sizes[i]);
  }
  if (most > SPREAD * least) order.sort((i, j) => sizes[j] - sizes[i]);
}

/** The places of a factor: row i goes to row `rows[i]`, and column j of the result is column `columns[j]`; columns beyond stay. */
interface Places {
  readonly rows: Uint32Array;
  readonly columns: Uint32Array;
}

function put(
  from: Float64Array,
  width: number,
  { rows, columns }: Places,
  out: NdArray,
  z: number,
) {
  const to = out.data as Numbers, first = z * rows.length * width;
  for (let i = 0; i < rows.length; i++) {
    const at = first + rows[i] * width, own = i * width;
    for (let j = 0; j < columns.length; j++) to[at + j] = from[own + columns[j]];
    for (let j = columns.length; j < width; j++) to[at + j] = from[own + j];
  }
}

/** Computes singular values, descending, and where wanted the vectors of both sides, as many as their shapes hold. */
export function svdCpu(x: NdArray, s: NdArray, sides: readonly [NdArray, NdArray] | null): void {
  const { rows: m, columns: n, count } = matrices(x);
  const from = x.data as Numbers, values = s.data as Numbers, isTall = m >= n;
  // A wide matrix is read as a tall one.
  const [long, short, down, right] = isTall ? [m, n, n, 1] : [n, m, 1, n];
  const room = bidiagonalRoom(short, sides !== null), { d, sums } = room;
  const tall = long > short ? tallOf(long, short) : null, a = tall?.a ?? room.a;
  const [u, v] = sides === null ? [] : isTall ? sides : [sides[1], sides[0]];
  const width = u?.shape.at(-1) ?? 0;
  const [high, wide] = [long, short].map((n) => new Float64Array(n));
  const [rows, columns, order] = [long, short, short].map((n) => new Uint32Array(n));
  for (let z = 0; z < count; z++) {
    const at = z * m * n, scale = scaleOf(from, at, at + m * n);
    if (Number.isNaN(scale)) {
      for (const out of [s, ...sides ?? []]) fillMatrix(out, z, count);
      continue;
    }
    high.fill(0);
    wide.fill(0);
    for (let i = 0; i < long; i++) {
      for (let j = 0, k = at + i * down; j < short; j++, k += right) {
        const size = Math.abs(from[k]);
        if (size > high[i]) high[i] = size;
        if (size > wide[j]) wide[j] = size;
      }
    }
    putInOrder(rows, high);
    putInOrder(columns, wide);
    for (let i = 0, k = 0; i < long; i++) {
      const first = at + rows[i] * down;
      for (let j = 0; j < short; j++) a[k++] = scale * from[first + columns[j] * right];
    }
    if (tall !== null) {
      toTriangle(tall, sums);
      room.a.set(a.subarray(0, short * short));
    }
    bidiagonalValues(room);
    for (let k = 0; k < short; k++) order[k] = k;
    order.sort((i, j) => d[j] - d[i]);
    for (let k = 0; k < short; k++) values[z * short + k] = d[order[k]] / scale;
    if (u === undefined || v === undefined) continue;
    put(room.v, short, { rows: columns, columns: order }, v, z);
    const all = tall === null ? room.u : new Float64Array(long * width);
    if (tall !== null) {
      for (let i = 0; i < short; i++) {
        all.set(room.u.subarray(i * short, (i + 1) * short), i * width);
      }
      for (let i = short; i < width; i++) all[i * (width + 1)] = 1;
      unfold(tall, all, width);
    }
    put(all, width, { rows, columns: order }, u, z);
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
  const room = symmetricRoom(n, vectors !== null), { a, d } = room;
  const sizes = new Float64Array(n), [rows, columns] = [0, 1].map(() => new Uint32Array(n));
  for (let z = 0; z < count; z++) {
    const first = z * n * n;
    for (let i = 0; i < n; i++) sizes[i] = Math.abs(from[first + i * (n + 1)]);
    putInOrder(rows, sizes);
    // This reduction begins with the last row.
    rows.reverse();
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        const p = rows[i], q = rows[j];
        a[i * n + j] = j > i ? 0 : from[first + Math.max(p, q) * n + Math.min(p, q)];
      }
    }
    const scale = scaleOf(a, 0, n * n);
    if (Number.isNaN(scale)) {
      for (const out of vectors ? [e, vectors] : [e]) fillMatrix(out, z, count);
      continue;
    }
    if (scale !== 1) { for (let i = 0; i < n * n; i++) a[i] *= scale; }
    symmetricEigen(room);
    for (let k = 0; k < n; k++) columns[k] = k;
    columns.sort((i, j) => d[i] - d[j]);
    for (let k = 0; k < n; k++) values[z * n + k] = d[columns[k]] / scale;
    if (vectors !== null) put(room.z, n, { rows, columns }, vectors, z);
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
