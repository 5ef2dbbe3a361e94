/**
 * Eigenvalues and eigenvectors of real matrices on the host: reduction to Hessenberg form by reflections, double steps of QR with implicit
 * shifts (J. Francis, 1961) and back-substitution (Golub and Van Loan, "Matrix Computations", chapter 7). In float64.
 */
import { InvalidArgumentError } from "../../../core/errors.ts";
import { reflectColumns, reflector, reflectRows, setIdentity } from "./reflections.ts";

const EPSILON = 2 ** -52;
/** Steps for a pair of eigenvalues; most need three or four. */
const MOST_STEPS = 60;

/** Room for matrices of `n` rows. */
export interface RealRoom {
  readonly n: number;
  /** The matrix, by rows. It is overwritten. */
  readonly h: Float64Array;
  /** Eigenvalues: of a pair that are no reals, the one with the positive imaginary part comes first. */
  readonly re: Float64Array;
  readonly im: Float64Array;
  /** The basis of the triangle. */
  readonly z: Float64Array;
  readonly vector: Float64Array;
  readonly sums: Float64Array;
}

/** Makes room; vectors take none where they are not wanted. */
export function realRoom(n: number, withVectors: boolean): RealRoom {
  const [re, im, vector, sums] = Array.from({ length: 4 }, () => new Float64Array(n));
  const z = new Float64Array(withVectors ? n * n : 0);
  return { n, h: new Float64Array(n * n), re, im, z, vector, sums };
}

/** Makes elements below the first subdiagonal zero. */
function toHessenberg({ n, h, z, vector, sums }: RealRoom): void {
  if (z.length > 0) setIdentity(z, n);
  for (let k = 0; k < n - 2; k++) {
    for (let i = k + 1; i < n; i++) vector[i] = h[i * n + k];
    const [head, by] = reflector(vector, k + 1, n);
    h[(k + 1) * n + k] = head;
    for (let i = k + 2; i < n; i++) h[i * n + k] = 0;
    const part = { a: h, width: n, top: k + 1, bottom: n, left: k + 1, right: n };
    reflectColumns(part, vector, by, sums);
    reflectRows({ ...part, top: 0 }, vector, by);
    if (z.length > 0) reflectRows({ ...part, a: z, top: 1 }, vector, by);
  }
}

/** A reflection of two or three neighbours: `x -= p · (a, b, c)` with `p = x₀ + q x₁ + r x₂`; so too the columns, with p of the others. */
interface Bulge {
  readonly k: number;
  readonly isLast: boolean;
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly q: number;
  readonly r: number;
}

function reflectThreeRows(
  h: Float64Array,
  n: number,
  { k, isLast, a, b, c, q, r }: Bulge,
  right: number,
): void {
  let x = k * n + k, y = x + n, w = y + n;
  if (isLast) {
    for (let j = k; j < right; j++) {
      const p = h[x] + q * h[y];
      h[x++] -= p * a;
      h[y++] -= p * b;
    }
    return;
  }
  for (let j = k; j < right; j++) {
    const p = h[x] + q * h[y] + r * h[w];
    h[x++] -= p * a;
    h[y++] -= p * b;
    h[w++] -= p * c;
  }
}

function reflectThreeColumns(
  h: Float64Array,
  n: number,
  { k, isLast, a, b, c, q, r }: Bulge,
  top: number,
  bottom: number,
): void {
  let at = top * n + k;
  if (isLast) {
    for (let i = top; i < bottom; i++, at += n) {
      const p = a * h[at] + b * h[at + 1];
      h[at] -= p;
      h[at + 1] -= p * q;
    }
    return;
  }
  for (let i = top; i < bottom; i++, at += n) {
    const p = a * h[at] + b * h[at + 1] + c * h[at + 2];
    h[at] -= p;
    h[at + 1] -= p * q;
    h[at + 2] -= p * r;
  }
}

/** A double step on rows `low` to `high`. A shift of another kind ends cycles. */
function doubleStep({ n, h, z }: RealRoom, low: number, high: number, isOther: boolean): void {
  const all = z.length > 0, end = high * n + high;
  let x = h[end], y = h[end - n - 1], w = h[end - 1] * h[end - n];
  if (isOther) {
    const s = Math.abs(h[end - 1]) + Math.abs(h[end - n - 2]);
    x = y = h[end] + 0.75 * s;
    w = -0.4375 * s * s;
  }
  // The step begins where two neighbours below the diagonal are small.
  let p = 0, q = 0, r = 0, first = high - 2;
  for (;; first--) {
    const at = first * n + first, own = h[at], next = h[at + n + 1];
    const a = x - own, b = y - own;
    p = (a * b - w) / h[at + n] + h[at + 1];
    q = next - own - a - b;
    r = h[at + 2 * n + 1];
    const size = Math.abs(p) + Math.abs(q) + Math.abs(r);
    p /= size, q /= size, r /= size;
    if (first === low) break;
    const left = Math.abs(h[at - 1]) * (Math.abs(q) + Math.abs(r));
    const near = Math.abs(h[at - n - 1]) + Math.abs(own) + Math.abs(next);
    if (left <= EPSILON * Math.abs(p) * near) break;
  }
  for (let k = first; k < high; k++) {
    const isLast = k === high - 1, at = k * n + k;
    let size = 1;
    if (k > first) {
      p = h[at - 1];
      q = h[at + n - 1];
      r = isLast ? 0 : h[at + 2 * n - 1];
      h[at + n - 1] = 0;
      if (!isLast) h[at + 2 * n - 1] = 0;
      size = Math.abs(p) + Math.abs(q) + Math.abs(r);
      if (size === 0) continue;
      p /= size, q /= size, r /= size;
    }
    const norm = Math.sqrt(p * p + q * q + r * r), s = p < 0 ? -norm : norm;
    if (k > first) h[at - 1] = -s * size;
    else if (first > low) h[at - 1] = -h[at - 1];
    p += s;
    const bulge = { k, isLast, a: p / s, b: q / s, c: r / s, q: q / p, r: r / p };
    reflectThreeRows(h, n, bulge, all ? n : high + 1);
    reflectThreeColumns(h, n, bulge, all ? 0 : low, Math.min(high, k + 3) + 1);
    if (all) reflectThreeColumns(z, n, bulge, 0, n);
  }
}

/** Parts the block of rows `i` and `i + 1`: two reals, for which it becomes a triangle, or a pair. */
function partBlock({ n, h, re, im, z }: RealRoom, i: number): void {
  const at = i * n + i, x = h[at + n + 1], w = h[at + n] * h[at + 1];
  const half = (h[at] - x) / 2, q = half * half + w, root = Math.sqrt(Math.abs(q));
  if (q < 0) {
    re[i] = re[i + 1] = x + half;
    im[i] = root;
    im[i + 1] = -root;
    return;
  }
  const far = half < 0 ? half - root : half + root, below = h[at + n];
  re[i] = x + far;
  re[i + 1] = far === 0 ? re[i] : x - w / far;
  im[i] = im[i + 1] = 0;
  if (z.length === 0) return;
  const size = Math.abs(below) + Math.abs(far), a = below / size, b = far / size;
  const norm = Math.sqrt(a * a + b * b), sin = a / norm, cos = b / norm;
  for (let j = i, p = at, q = at + n; j < n; j++, p++, q++) {
    const v = h[p];
    h[p] = cos * v + sin * h[q];
    h[q] = cos * h[q] - sin * v;
  }
  const turn = (m: Float64Array, rows: number): void => {
    for (let k = 0, p = i; k < rows; k++, p += n) {
      const v = m[p];
      m[p] = cos * v + sin * m[p + 1];
      m[p + 1] = cos * m[p + 1] - sin * v;
    }
  };
  turn(h, i + 2);
  turn(z, n);
  h[at + n] = 0;
}

/** Computes the eigenvalues of the matrix in the room, and where there is room for vectors the triangle and its basis. */
export function realTriangle(room: RealRoom): void {
  const { n, h, re, im } = room;
  toHessenberg(room);
  let norm = 0;
  for (let i = 0; i < n * n; i++) norm = Math.max(norm, Math.abs(h[i]));
  for (let high = n - 1, steps = 0; high >= 0;) {
    let low = high;
    for (; low > 0; low--) {
      const at = low * n + low, near = Math.abs(h[at]) + Math.abs(h[at - n - 1]);
      if (Math.abs(h[at - 1]) <= EPSILON * (near === 0 ? norm : near)) {
        h[at - 1] = 0;
        break;
      }
    }
    if (high - low > 1) {
      if (steps++ === MOST_STEPS) {
        throw new InvalidArgumentError(
          "Eigen decomposition was not successful: it did not converge",
        );
      }
      doubleStep(room, low, high, steps % 10 === 0);
      continue;
    }
    steps = 0;
    if (low === high) {
      re[high] = h[high * n + high];
      im[high] = 0;
    } else partBlock(room, low);
    high = low - 1;
  }
}
