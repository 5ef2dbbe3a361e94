/**
 * Square roots and logarithms of matrices on the host, by their triangles (N. Higham, "Functions of Matrices", 2008, algorithms 6.3 and
 * 11.9). In pairs of float64.
 */
import { DTYPES } from "../../../core/dtype.ts";
import type { NdArray } from "../../../core/nd_array.ts";
import type { Numbers } from "../matmul.ts";
import { at, type Complex, matrix, over, type Pair, put, root, times, triangleOf } from "./eig.ts";
import { matrices } from "./linalg.ts";

/** Numbers of which no part is larger count as real, relative to the largest. */
const REAL = 1e-7;

/** The root of an upper triangle. Zeros over zeros, as of a matrix of zeros, are zeros. */
function rootOf(t: Complex): Complex {
  const { n } = t, r = matrix(n);
  for (let j = 0; j < n; j++) {
    put(r, j, j, root(at(t, j, j)));
    for (let i = j - 1; i >= 0; i--) {
      let [a, b] = at(t, i, j);
      for (let k = i + 1; k < j; k++) {
        const [c, d] = times(at(r, i, k), at(r, k, j));
        a -= c;
        b -= d;
      }
      const [e, f] = at(r, i, i), [g, h] = at(r, j, j), sum: Pair = [e + g, f + h];
      put(r, i, j, a === 0 && b === 0 ? [0, 0] : over([a, b], sum));
    }
  }
  return r;
}

/** Nodes and weights of Gauss and Legendre's quadrature of seven points over [0, 1]. */
const NODES: readonly Pair[] = [
  [0.9491079123427585, 0.1294849661688697],
  [0.7415311855993945, 0.2797053914892766],
  [0.4058451513773972, 0.3818300505051189],
].flatMap(([x, w]): Pair[] => [[(1 - x) / 2, w / 2], [(1 + x) / 2, w / 2]]).concat([[
  0.5,
  0.4179591836734694 / 2,
]]);
/** The 1-norm of what is added to the identity, up to which the quadrature has the accuracy of float64. */
const NEAR = 0.2;
/** Most roots that are taken; a triangle with a zero never comes near the identity. */
const MOST_ROOTS = 100;

/** The largest sum of a column's sizes, of a triangle less the identity. */
function distance({ n, re, im }: Complex): number {
  let most = 0;
  for (let j = 0; j < n; j++) {
    let sum = 0;
    for (let i = 0; i <= j; i++) {
      sum += Math.hypot(re[i * n + j] - Number(i === j), im[i * n + j]);
    }
    if (!(sum <= most)) most = sum;
  }
  return most;
}

/** The logarithm of an upper triangle. */
function logarithmOf(t: Complex): Complex {
  const { n } = t, out = matrix(n);
  let roots = 0, near = t;
  for (; distance(near) > NEAR && roots < MOST_ROOTS; roots++) near = rootOf(near);
  const by = 2 ** roots;
  for (const [x, w] of NODES) {
    // Solves (1 + x (near - 1)) y = near - 1 from the last row up.
    const y = matrix(n);
    for (let j = 0; j < n; j++) {
      for (let i = j; i >= 0; i--) {
        const less = (a: number, b: number): Pair => {
          const [re, im] = at(near, a, b);
          return [re - Number(a === b), im];
        };
        let [a, b] = less(i, j);
        for (let k = i + 1; k <= j; k++) {
          const [c, d] = times(less(i, k), at(y, k, j));
          a -= x * c;
          b -= x * d;
        }
        const [p, q] = less(i, i);
        put(y, i, j, over([a, b], [1 + x * p, x * q]));
      }
    }
    for (let i = 0; i < n * n; i++) {
      out.re[i] += by * w * y.re[i];
      out.im[i] += by * w * y.im[i];
    }
  }
  for (let i = 0; i < n; i++) {
    const [a, b] = at(t, i, i);
    put(out, i, i, [Math.log(Math.hypot(a, b)), Math.atan2(b, a)]);
  }
  return out;
}

/** Returns `z · f · zᴴ`. */
function turned(z: Complex, f: Complex): Complex {
  const { n } = f, half = matrix(n), out = matrix(n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      let a = 0, b = 0;
      for (let k = 0; k <= j; k++) {
        const [c, d] = times(at(z, i, k), at(f, k, j));
        a += c;
        b += d;
      }
      put(half, i, j, [a, b]);
    }
  }
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      let a = 0, b = 0;
      for (let k = 0; k < n; k++) {
        const [c, d] = at(z, j, k), [e, g] = times(at(half, i, k), [c, -d]);
        a += e;
        b += g;
      }
      put(out, i, j, [a, b]);
    }
  }
  return out;
}

/** Writes a function of each matrix's triangle. Real results whose exact ones are complex are NaN. */
function apply(x: NdArray, out: NdArray, of: (t: Complex) => Complex): void {
  const { rows: n, count } = matrices(x), to = out.data as Numbers, { slots } = DTYPES[out.dtype];
  for (let k = 0; k < count; k++) {
    const found = triangleOf(x, k), first = slots * k * n * n;
    const y = found && turned(found.z, of(found.t));
    const most = y?.re.reduce((m, v, i) => Math.max(m, Math.hypot(v, y.im[i])), 0) ?? 0;
    const fits = y !== null && (slots === 2 || y.im.every((v) => Math.abs(v) <= REAL * most));
    for (let i = 0; i < n * n; i++) {
      to[first + slots * i] = fits ? y.re[i] : NaN;
      if (slots === 2) to[first + 2 * i + 1] = fits ? y.im[i] : NaN;
    }
  }
}

/** Computes the principal root of each matrix. */
export function sqrtmCpu(x: NdArray, out: NdArray): void {
  apply(x, out, rootOf);
}

/** Computes the principal logarithm of each matrix. */
export function logmCpu(x: NdArray, out: NdArray): void {
  apply(x, out, logarithmOf);
}
