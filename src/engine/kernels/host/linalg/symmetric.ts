/**
 * Eigenvalues and eigenvectors of symmetric matrices on the host: reduction to three diagonals by reflections, and QL or QR steps with
 * implicit shifts (Golub and Van Loan, "Matrix Computations", chapter 8). In float64.
 */
import { InvalidArgumentError } from "../../../core/errors.ts";
import {
  lengthOf,
  reflectColumns,
  setIdentity,
  turnColumns,
  type Turns,
  turnsOf,
} from "./reflections.ts";

const EPSILON = 2 ** -52;
/** Steps for an eigenvalue, as in LAPACK; most need two. */
const MOST_STEPS = 60;
/** A size that is nothing beside elements of any matrix. */
const LEAST = 2 ** -1000;

/** Room for matrices of `n` rows. */
export interface SymmetricRoom {
  readonly n: number;
  /** The matrix, of which the lower triangle counts. It is overwritten. */
  readonly a: Float64Array;
  /** Eigenvalues, in no order. */
  readonly d: Float64Array;
  /** Vectors as columns, in the order of the values. */
  readonly z: Float64Array;
  readonly e: Float64Array;
  readonly u: Float64Array;
  readonly p: Float64Array;
  readonly by: Float64Array;
  readonly turns: Turns;
}

/** Makes room; vectors take none where they are not wanted. */
export function symmetricRoom(n: number, withVectors: boolean): SymmetricRoom {
  return {
    n,
    a: new Float64Array(n * n),
    d: new Float64Array(n),
    z: new Float64Array(withVectors ? n * n : 0),
    e: new Float64Array(n),
    u: new Float64Array(n),
    p: new Float64Array(n),
    by: new Float64Array(n),
    turns: turnsOf(n),
  };
}

/** Reduces the matrix to its diagonal `d` and the one beside it, `e`. Reflections stay in the rows below, the last one first. */
function toThreeDiagonals({ n, a, d, e, u, p, by }: SymmetricRoom): void {
  for (let k = n - 1; k > 0; k--) {
    const row = k * n;
    // The last element of the row is the first of the vector.
    let rest = 0;
    for (let j = 0; j < k - 1; j++) rest += a[row + j] * a[row + j];
    const head = a[row + k - 1];
    d[k] = a[row + k];
    e[k - 1] = head;
    by[k] = 0;
    if (rest === 0) continue;
    const norm = Math.sqrt(head * head + rest), to = head > 0 ? -norm : norm;
    a[row + k - 1] = head - to;
    const factor = 2 / ((head - to) * (head - to) + rest);
    by[k] = factor;
    e[k - 1] = to;
    for (let j = 0; j < k; j++) {
      u[j] = a[row + j];
      p[j] = 0;
    }
    for (let i = 0; i < k; i++) {
      const v = u[i], from = i * n;
      let sum = a[from + i] * v;
      for (let j = 0; j < i; j++) {
        const x = a[from + j];
        sum += x * u[j];
        p[j] += x * v;
      }
      p[i] += sum;
    }
    let along = 0;
    for (let j = 0; j < k; j++) {
      p[j] *= factor;
      along += p[j] * u[j];
    }
    along *= factor / 2;
    for (let j = 0; j < k; j++) p[j] -= along * u[j];
    for (let i = 0; i < k; i++) {
      const v = u[i], w = p[i], from = i * n;
      for (let j = 0; j <= i; j++) a[from + j] -= v * p[j] + w * u[j];
    }
  }
  if (n > 0) d[0] = a[0];
}

/** Multiplies the reflections: the first has the largest part. */
function toVectors({ n, a, z, u, p, by }: SymmetricRoom): void {
  setIdentity(z, n);
  for (let k = 1; k < n; k++) {
    if (by[k] === 0) continue;
    for (let j = 0; j < k; j++) u[j] = a[k * n + j];
    reflectColumns({ a: z, width: n, top: 0, bottom: k, left: 0, right: k }, u, by[k], p);
  }
}

/** Makes `e` zero by steps from one end of a block to the other, where an eigenvalue of small size comes out first. */
function toDiagonal({ n, d, e, z, turns }: SymmetricRoom, withVectors: boolean): void {
  const { c, s } = turns;
  let steps = 0;
  for (let first = 0; first < n - 1;) {
    let last = first;
    for (; last < n - 1; last++) {
      const size = Math.abs(e[last]);
      const near = Math.sqrt(Math.abs(d[last])) * Math.sqrt(Math.abs(d[last + 1]));
      if (size <= EPSILON * near + LEAST) {
        e[last] = 0;
        break;
      }
    }
    if (last === first) {
      first++;
      continue;
    }
    if (steps++ > MOST_STEPS * n) {
      throw new InvalidArgumentError("Eigen decomposition was not successful: it did not converge");
    }
    const step = Math.abs(d[last]) < Math.abs(d[first]) ? -1 : 1;
    const end = step > 0 ? first : last, begin = step > 0 ? last : first;
    // `e` beside element i and the next one on the way back from the end.
    const beside = step > 0 ? 0 : -1;
    const near = e[end + beside], half = (d[end + step] - d[end]) / (2 * near);
    const size = Math.sqrt(1 + half * half);
    let g = d[begin] - d[end] + near / (half + (half < 0 ? -size : size));
    let sin = 1, cos = 1, p = 0, count = 0;
    for (let i = begin - step;; i -= step) {
      const f = sin * e[i + beside], b = cos * e[i + beside], r = lengthOf(f, g);
      if (r === 0) sin = 0, cos = 1;
      else sin = f / r, cos = g / r;
      if (count > 0) e[i + step + beside] = r;
      g = d[i + step] - p;
      const t = (d[i] - g) * sin + 2 * cos * b;
      p = sin * t;
      d[i + step] = g + p;
      g = cos * t - b;
      c[count] = cos;
      s[count++] = sin;
      if (i === end) break;
    }
    d[end] -= p;
    e[end + beside] = g;
    if (!withVectors) continue;
    turns.count = count;
    turns.from = begin;
    turns.step = -step;
    turnColumns(z, n, n, turns);
  }
}

/** Computes the eigenvalues of the matrix in the room, and its vectors where there is room for them. */
export function symmetricEigen(room: SymmetricRoom): void {
  const withVectors = room.z.length > 0;
  toThreeDiagonals(room);
  if (withVectors) toVectors(room);
  toDiagonal(room, withVectors);
}
