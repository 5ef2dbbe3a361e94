/** Integrals without closed forms, to float64's digits: Dawson's, the exponential one, Fresnel's and Spence's. */

/**
 * Dawson's integral, by G. B. Rybicki, "Dawson's integral and the sampling theorem" (1989), whose error falls as
 * `exp(-(π / 2h)²)`.
 */
export function dawson(x: number): number {
  const size = Math.abs(x), h = 0.2;
  if (size < 0.2) {
    let term = x, sum = x;
    for (let k = 1; k < 20; k++) sum += term *= -2 * x * x / (2 * k + 1);
    return sum;
  }
  if (size > 1e8) return 0.5 / x;
  if (!(size <= 1e8)) return x;
  const middle = 2 * Math.round(size / (2 * h)), rest = size - middle * h;
  let sum = 0;
  for (let n = -41; n <= 41; n += 2) sum += Math.exp(-((rest - n * h) ** 2)) / (n + middle);
  return Math.sign(x) * sum / Math.sqrt(Math.PI);
}

/** The exponential integral Ei of a positive number: minus infinity at 0, NaN below. */
export function exponentialIntegral(x: number): number {
  if (!(x >= 0)) return NaN;
  if (x === 0) return -Infinity;
  if (x === Infinity) return x;
  let term = 1;
  if (x < 40) {
    let sum = 0;
    for (let k = 1; k < 300; k++) {
      term *= x / k;
      sum += term / k;
      if (term / k < 1e-18 * sum) break;
    }
    return 0.5772156649015329 + Math.log(x) + sum;
  }
  let sum = 1;
  for (let k = 1; k < x; k++) {
    term *= k / x;
    if (term < 1e-18) break;
    sum += term;
  }
  return Math.exp(x - Math.log(x)) * sum;
}

/** Both of Fresnel's integrals, by series near 0 and a continued fraction of the complex error function. */
export function fresnel(x: number): { cos: number; sin: number } {
  const size = Math.abs(x), sign = x < 0 ? -1 : 1;
  if (Number.isNaN(x)) return { cos: x, sin: x };
  if (size > 1e8) return { cos: sign / 2, sin: sign / 2 };
  const square = Math.PI / 2 * size * size;
  if (size < 1.5) {
    let term = size, cos = size, sin = 0;
    for (let k = 1; k < 60; k++) {
      term *= square / k;
      const part = (k % 4 < 2 ? 1 : -1) * term / (2 * k + 1);
      if (k % 2 === 0) cos += part;
      else sin += part;
      if (term < 1e-18) break;
    }
    return { cos: sign * cos, sin: sign * sin };
  }
  // Lentz's method for the fraction b0 + a1 / (b1 + a2 / (b2 + ...)), over complex numbers.
  const along = 2 * square;
  let b: Complex = [1, -along], c: Complex = [1e300, 0], d = divide([1, 0], b), h = d;
  for (let k = 1, n = -1; k < 300; k++) {
    n += 2;
    const a = -n * (n + 1);
    b = [b[0] + 4, b[1]];
    d = divide([1, 0], [a * d[0] + b[0], a * d[1] + b[1]]);
    const over = divide([a, 0], c);
    c = [b[0] + over[0], b[1] + over[1]];
    const change = times(c, d);
    h = times(h, change);
    if (Math.abs(change[0] - 1) + Math.abs(change[1]) < 1e-16) break;
  }
  h = times([size, -size], h);
  const phase = times([Math.cos(square), Math.sin(square)], h);
  const [re, im] = times([0.5, 0.5], [1 - phase[0], -phase[1]]);
  return { cos: sign * re, sin: sign * im };
}

type Complex = readonly [re: number, im: number];
const times = ([a, b]: Complex, [c, d]: Complex): Complex => [a * c - b * d, a * d + b * c];
const divide = ([a, b]: Complex, [c, d]: Complex): Complex => {
  const by = c * c + d * d;
  return [(a * c + b * d) / by, (b * c - a * d) / by];
};

/** Spence's integral: the dilogarithm of `1 - x`; NaN below 0. */
export function spence(x: number): number {
  if (!(x >= 0)) return NaN;
  if (x === 0) return Math.PI ** 2 / 6;
  if (x === Infinity) return -Infinity;
  if (x > 2) return -(Math.log(x) ** 2) / 2 - spence(1 / x);
  if (x < 0.5) return Math.PI ** 2 / 6 - Math.log(x) * Math.log1p(-x) - spence(1 - x);
  // Debye's series in u = -log x, with Bernoulli's numbers over factorials.
  const u = -Math.log(x), square = u * u;
  let power = u * square, sum = u - square / 4;
  for (const b of BERNOULLI) {
    sum += b * power;
    power *= square;
  }
  return sum;
}

/** Bernoulli's numbers of even order n over (n + 1)!. */
const BERNOULLI = [
  1 / 36,
  -1 / 3600,
  1 / 211680,
  -1 / 10886400,
  1 / 526901760,
  -691 / 16999766784000,
  1 / 1120863744000,
  -3617 / 181400588328960000,
  43867 / 97072790126247936000,
  -174611 / 16860010916664115200000,
];
