/**
 * Singular values and vectors on the host: reduction to two diagonals by reflections (G. Golub and W. Kahan, 1965), and QR steps with
 * implicit shifts that keep small values accurate (J. Demmel and W. Kahan, "Accurate singular values of bidiagonal matrices", 1990).
 * In float64.
 */
import { InvalidArgumentError } from "../../../core/errors.ts";
import {
  lengthOf,
  reflectColumns,
  reflector,
  reflectRows,
  setIdentity,
  turnColumns,
  type Turns,
  turnsOf,
} from "./reflections.ts";

const EPSILON = 2 ** -52;
/** Relative size of what is left out beside singular values. */
const TOLERANCE = 4 * EPSILON;
/** Steps for a singular value; most need two. */
const MOST_STEPS = 60;
/** Values of a block of n rows are spread so widely, times n, that a shift would lose digits of the least. */
const SPREAD = 10;
/** A size that is nothing beside elements of any matrix. */
const LEAST = 2 ** -1000;

/** Room for square matrices of `n` rows. */
export interface BidiagonalRoom {
  readonly n: number;
  /** The matrix. It is overwritten. */
  readonly a: Float64Array;
  /** Singular values, in no order. */
  readonly d: Float64Array;
  /** Vectors of both sides as columns, in the order of the values. */
  readonly u: Float64Array;
  readonly v: Float64Array;
  readonly e: Float64Array;
  /** Vectors of the reflections from the left, a row each. */
  readonly left: Float64Array;
  readonly byLeft: Float64Array;
  readonly byRight: Float64Array;
  readonly vector: Float64Array;
  readonly sums: Float64Array;
  readonly near: Turns;
  readonly far: Turns;
}

/** Makes room; vectors take none where they are not wanted. */
export function bidiagonalRoom(n: number, withVectors: boolean): BidiagonalRoom {
  const square = withVectors ? n * n : 0;
  const [d, e, byLeft, byRight, vector, sums] = Array.from(
    { length: 6 },
    () => new Float64Array(n),
  );
  const [u, v, left] = [0, 1, 2].map(() => new Float64Array(square));
  const a = new Float64Array(n * n);
  return {
    n,
    a,
    d,
    u,
    v,
    e,
    left,
    byLeft,
    byRight,
    vector,
    sums,
    near: turnsOf(n),
    far: turnsOf(n),
  };
}

/** Reduces the matrix to its diagonal `d` and the one above it, `e`. Reflections from the right stay in the rows of `a`. */
function toTwoDiagonals(room: BidiagonalRoom, withVectors: boolean): void {
  const { n, a, d, e, left, byLeft, byRight, vector, sums } = room;
  for (let k = 0; k < n; k++) {
    for (let i = k; i < n; i++) vector[i] = a[i * n + k];
    const [head, by] = reflector(vector, k, n);
    d[k] = head;
    byLeft[k] = by;
    const rest = { a, width: n, top: k, bottom: n, left: k + 1, right: n };
    reflectColumns(rest, vector, by, sums);
    if (withVectors && by !== 0) left.set(vector.subarray(k, n), k * n + k);
    if (k === n - 1) break;
    vector.set(a.subarray(k * n + k + 1, k * n + n), k + 1);
    const [beside, byRow] = reflector(vector, k + 1, n);
    e[k] = beside;
    byRight[k] = byRow;
    reflectRows({ ...rest, top: k + 1 }, vector, byRow);
    a.set(vector.subarray(k + 1, n), k * n + k + 1);
  }
}

/** Multiplies the reflections of both sides: the last has the smallest part. */
function toVectors({ n, a, u, v, left, byLeft, byRight, vector, sums }: BidiagonalRoom): void {
  setIdentity(u, n);
  setIdentity(v, n);
  for (let k = n - 1; k >= 0; k--) {
    const part = { width: n, bottom: n, right: n };
    if (byLeft[k] !== 0) {
      vector.set(left.subarray(k * n + k, k * n + n), k);
      reflectColumns({ a: u, ...part, top: k, left: k }, vector, byLeft[k], sums);
    }
    if (k < n - 1 && byRight[k] !== 0) {
      vector.set(a.subarray(k * n + k + 1, k * n + n), k + 1);
      reflectColumns({ a: v, ...part, top: k + 1, left: k + 1 }, vector, byRight[k], sums);
    }
  }
}

/** The smaller singular value of `[[f, g], [0, h]]`. */
function smallerValue(f: number, g: number, h: number): number {
  f = Math.abs(f), g = Math.abs(g), h = Math.abs(h);
  const least = Math.min(f, h), most = Math.max(f, h);
  if (least === 0) return 0;
  if (g < most) {
    const sum = 1 + least / most, gap = (most - least) / most, by = (g / most) ** 2;
    return least * (2 / (Math.sqrt(sum * sum + by) + Math.sqrt(gap * gap + by)));
  }
  const by = most / g;
  if (by === 0) return least * most / g;
  const sum = (1 + least / most) * by, gap = (most - least) / most * by;
  return 2 * (least * (1 / (Math.sqrt(1 + sum * sum) + Math.sqrt(1 + gap * gap)))) * by;
}

/** A block of the two diagonals whose elements above are all there, in the direction of its steps. */
interface Block {
  /** The first element on the way, and the last. */
  readonly begin: number;
  readonly end: number;
  /** 1 downwards, -1 upwards: upwards, the sides change places. */
  readonly step: number;
}

/** A step with a shift of 0, which keeps the relative accuracy of all values. */
function zeroStep(
  { d, e, near, far }: BidiagonalRoom,
  { begin, end, step }: Block,
  beside: number,
): void {
  let cos = 1, cosFar = 1, sinFar = 0, count = 0;
  for (let i = begin; i !== end; i += step) {
    const x = d[i] * cos, y = e[i + beside], r = lengthOf(x, y);
    const sin = r === 0 ? 0 : y / r;
    cos = r === 0 ? 1 : x / r;
    if (count > 0) e[i - step + beside] = sinFar * r;
    const p = cosFar * r, q = d[i + step] * sin, size = lengthOf(p, q);
    cosFar = size === 0 ? 1 : p / size;
    sinFar = size === 0 ? 0 : q / size;
    d[i] = size;
    near.c[count] = cos;
    near.s[count] = sin;
    far.c[count] = cosFar;
    far.s[count++] = sinFar;
  }
  const h = d[end] * cos;
  d[end] = h * cosFar;
  e[end - step + beside] = h * sinFar;
  near.count = far.count = count;
}

/** A step with a shift. */
function shiftedStep(
  { d, e, near, far }: BidiagonalRoom,
  { begin, end, step }: Block,
  beside: number,
  shift: number,
): void {
  const first = d[begin];
  let f = (Math.abs(first) - shift) * ((first < 0 ? -1 : 1) + shift / first);
  let g = e[begin + beside], count = 0;
  for (let i = begin; i !== end; i += step) {
    let r = lengthOf(f, g);
    let cos = r === 0 ? 1 : f / r, sin = r === 0 ? 0 : g / r;
    const own = i + beside;
    if (count > 0) e[own - step] = r;
    f = cos * d[i] + sin * e[own];
    const above = cos * e[own] - sin * d[i];
    g = sin * d[i + step];
    const next = cos * d[i + step];
    near.c[count] = cos;
    near.s[count] = sin;
    r = lengthOf(f, g);
    cos = r === 0 ? 1 : f / r;
    sin = r === 0 ? 0 : g / r;
    d[i] = r;
    f = cos * above + sin * next;
    d[i + step] = cos * next - sin * above;
    far.c[count] = cos;
    far.s[count++] = sin;
    if (i + step !== end) {
      g = sin * e[own + step];
      e[own + step] = cos * e[own + step];
    }
  }
  e[end - step + beside] = f;
  near.count = far.count = count;
}

/** Leaves out an element above that is nothing beside the values of a block. Returns the block's least value, about; null where one was. */
function leastOf({ d, e }: BidiagonalRoom, { begin, end, step }: Block): number | null {
  const beside = step > 0 ? 0 : -1, last = end - step + beside;
  if (Math.abs(e[last]) <= TOLERANCE * Math.abs(d[end])) {
    e[last] = 0;
    return null;
  }
  let size = Math.abs(d[begin]), least = size;
  for (let i = begin; i !== end; i += step) {
    const above = Math.abs(e[i + beside]);
    if (above <= TOLERANCE * size) {
      e[i + beside] = 0;
      return null;
    }
    size = Math.abs(d[i + step]) * (size / (size + above));
    least = Math.min(least, size);
  }
  return least;
}

/** Makes `e` zero. */
function toDiagonal(room: BidiagonalRoom, withVectors: boolean): void {
  const { n, d, e, u, v, near, far } = room;
  let bound = Math.abs(d[0]), size = bound;
  for (let i = 1; i < n; i++) {
    size = size === 0 ? 0 : Math.abs(d[i]) * (size / (size + Math.abs(e[i - 1])));
    bound = Math.min(bound, size);
  }
  // No value that can be told from zero would miss as much.
  const nothing = Math.max(TOLERANCE * bound / Math.sqrt(n), LEAST);
  let low = -1, high = -1, step = 1;
  for (let last = n - 1, steps = 0; last > 0;) {
    let first = last, most = Math.abs(d[last]);
    for (; first > 0; first--) {
      const above = Math.abs(e[first - 1]);
      if (above <= nothing) {
        e[first - 1] = 0;
        break;
      }
      most = Math.max(most, above, Math.abs(d[first - 1]));
    }
    if (first === last) {
      last--;
      continue;
    }
    if (steps++ > MOST_STEPS * n) {
      throw new InvalidArgumentError(
        "Singular value decomposition was not successful: it did not converge",
      );
    }
    // A new block is gone through from its larger end.
    if (first > high || last < low || low < 0) {
      step = Math.abs(d[first]) >= Math.abs(d[last]) ? 1 : -1;
    }
    [low, high] = [first, last];
    const block = step > 0 ? { begin: first, end: last, step } : { begin: last, end: first, step };
    const least = leastOf(room, block);
    if (least === null) continue;
    const { begin, end } = block, beside = step > 0 ? 0 : -1;
    let shift = 0;
    if (SPREAD * n * least > most) {
      shift = smallerValue(d[end - step], e[end - step + beside], d[end]);
      const head = Math.abs(d[begin]);
      if (head === 0 || (shift / head) ** 2 < EPSILON) shift = 0;
    }
    if (shift === 0) zeroStep(room, block, beside);
    else shiftedStep(room, block, beside, shift);
    if (Math.abs(e[end - step + beside]) <= nothing) e[end - step + beside] = 0;
    if (!withVectors) continue;
    near.from = far.from = begin;
    near.step = far.step = step;
    turnColumns(step > 0 ? v : u, n, n, near);
    turnColumns(step > 0 ? u : v, n, n, far);
  }
}

/** Computes the singular values of the matrix in the room, none of them negative, and its vectors where there is room for them. */
export function bidiagonalValues(room: BidiagonalRoom): void {
  const { n, d, v } = room, withVectors = v.length > 0;
  toTwoDiagonals(room, withVectors);
  if (withVectors) toVectors(room);
  toDiagonal(room, withVectors);
  for (let k = 0; k < n; k++) {
    if (d[k] >= 0) continue;
    d[k] = -d[k];
    for (let i = k; i < v.length; i += n) v[i] = -v[i];
  }
}
