/** Discrete Fourier transforms of a few numbers, in vector code. */
import { root } from "../../../kernels/host/spectral/fft.ts";
import type { C, Lanes } from "./lanes.ts";

/** Numbers that a stage combines. A last stage alone combines 2 or 8. */
export type Radix = 2 | 3 | 4 | 5 | 7 | 8;

/** Returns the transform of some numbers. */
export function butterfly(v: Lanes, x: readonly C[]): C[] {
  switch (x.length) {
    case 2:
      return [v.add(x[0], x[1]), v.sub(x[0], x[1])];
    case 4:
      return four(v, x);
    case 8:
      return eight(v, x);
    default:
      return odd(v, x);
  }
}

/** `a - i b` and `a + i b`. */
function apart(v: Lanes, [ar, ai]: C, [br, bi]: C): readonly [C, C] {
  const { add, sub } = v.ops;
  return [
    [v.let(add(ar, bi)), v.let(sub(ai, br))],
    [v.let(sub(ar, bi)), v.let(add(ai, br))],
  ];
}

function four(v: Lanes, [a, b, c, d]: readonly C[]): C[] {
  const e = v.add(a, c), f = v.sub(a, c), g = v.add(b, d), h = v.sub(b, d);
  const [y1, y3] = apart(v, f, h);
  return [v.add(e, g), y1, v.sub(e, g), y3];
}

function eight(v: Lanes, x: readonly C[]): C[] {
  const { add, sub, mul } = v.ops, half = v.k(Math.SQRT1_2);
  const even = four(v, [x[0], x[2], x[4], x[6]]), [a, b, c, d] = four(v, [x[1], x[3], x[5], x[7]]);
  const eighth: C = [v.let(mul(half, add(b[0], b[1]))), v.let(mul(half, sub(b[1], b[0])))];
  // Three eighths but for the sign, which the sums below have.
  const other: C = [v.let(mul(half, sub(d[1], d[0]))), v.let(mul(half, add(d[0], d[1])))];
  const [y2, y6] = apart(v, even[2], c);
  const y3: C = [v.let(add(even[3][0], other[0])), v.let(sub(even[3][1], other[1]))];
  const y7: C = [v.let(sub(even[3][0], other[0])), v.let(add(even[3][1], other[1]))];
  return [
    ...[v.add(even[0], a), v.add(even[1], eighth), y2, y3],
    ...[v.sub(even[0], a), v.sub(even[1], eighth), y6, y7],
  ];
}

/** A transform of an odd number: sums and differences of those that are as far from the ends. */
function odd(v: Lanes, x: readonly C[]): C[] {
  const n = x.length, { mul } = v.ops, half = (n - 1) / 2;
  const y = new Array<C>(n);
  const sums: C[] = [], differences: C[] = [];
  for (let k = 1; k <= half; k++) {
    sums.push(v.add(x[k], x[n - k]));
    differences.push(v.sub(x[k], x[n - k]));
  }
  y[0] = sums.reduce((sum, s) => v.add(sum, s), x[0]);
  for (let j = 1; j <= half; j++) {
    const both = [0, 1].map((part) => {
      let even = x[0][part], turned = v.k(0);
      for (let k = 1; k <= half; k++) {
        const [c, s] = root(j * k % n, n);
        even = v.madd(v.k(c), sums[k - 1][part], even);
        const by = v.k(-s), d = differences[k - 1][part];
        turned = k === 1 ? v.let(mul(by, d)) : v.madd(by, d, turned);
      }
      return [even, turned] as const;
    });
    const [re, im] = both;
    [y[j], y[n - j]] = apart(v, [re[0], im[0]], [re[1], im[1]]);
  }
  return y;
}
