/** The regularized incomplete beta function on the host, in float64. */

/** The logarithm of the gamma function: Stirling's series after a shift to where it is exact to float64. */
export function logGamma(x: number): number {
  let shift = 0;
  for (; x < 12; x++) shift -= Math.log(x);
  const y = 1 / (x * x);
  const series = 1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188))));
  return shift + (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series / x;
}

/** Most steps of the fraction, which needs about the square root of the larger parameter. */
const MOST_STEPS = 10_000;
const TINY = 1e-300;

/** The continued fraction of NIST's Digital Library of Mathematical Functions 8.17.22, by Lentz's method. */
function fraction(a: number, b: number, x: number): number {
  const nonzero = (v: number): number => (Math.abs(v) < TINY ? TINY : v);
  let c = 1, d = 1 / nonzero(1 - (a + b) * x / (a + 1)), value = d;
  for (let m = 1; m <= MOST_STEPS; m++) {
    const even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    let factor = 1;
    for (const term of [even, odd]) {
      d = 1 / nonzero(1 + term * d);
      c = nonzero(1 + term / c);
      factor = d * c;
      value *= factor;
    }
    if (Math.abs(factor - 1) < 1e-16) break;
  }
  return value;
}

/** I_x(a, b); NaN where a or b is not a positive number or x not within [0, 1]. */
export function incompleteBeta(a: number, b: number, x: number): number {
  if (!(a > 0 && b > 0 && a < Infinity && b < Infinity && x >= 0 && x <= 1)) return NaN;
  if (x === 0 || x === 1) return x;
  const front = Math.exp(
    logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x),
  );
  // The fraction converges fast below the mean; above it the other tail's does.
  return x < (a + 1) / (a + b + 2)
    ? front * fraction(a, b, x) / a
    : 1 - front * fraction(b, a, 1 - x) / b;
}
