/** Hurwitz's zeta function and the polygamma functions on the host, in float64. */

/** Even Bernoulli numbers over factorials, B(2k) / (2k)!. */
const BERNOULLI = [
  1 / 12,
  -1 / 720,
  1 / 30240,
  -1 / 1209600,
  1 / 47900160,
  -691 / 1307674368000,
  1 / 74724249600,
  -3617 / 10670622842880000,
];
/** From here on Euler and Maclaurin's series has float64's digits. */
const FAR = 12;

/** The sum of `(k + q) ** -x` over all k from 0: Euler and Maclaurin's formula, DLMF 25.11.5. */
export function zetaOf(x: number, q: number): number {
  if (Number.isNaN(x) || Number.isNaN(q)) return NaN;
  if (x === 1) return Infinity;
  if (x < 1) return NaN;
  if (q <= 0) {
    if (q === Math.floor(q)) return Infinity;
    if (x !== Math.floor(x)) return NaN;
    // The terms below zero are those of two others, up to a sign.
    const above = q - Math.floor(q);
    const below = zetaOf(x, 1 - above) - zetaOf(x, 1 - q);
    return zetaOf(x, above) + (x % 2 === 0 ? below : -below);
  }
  let sum = 0;
  for (; q < FAR; q++) sum += Math.pow(q, -x);
  const power = Math.pow(q, -x);
  if (power === 0) return sum;
  sum += power * q / (x - 1) + power / 2;
  let term = x * power / q;
  for (let k = 0; k < BERNOULLI.length; k++) {
    sum += BERNOULLI[k] * term;
    term *= (x + 2 * k + 1) * (x + 2 * k + 2) / (q * q);
  }
  return sum;
}

/** The n-th derivative of the digamma function; NaN where n is no integer or negative. */
export function polygammaOf(n: number, x: number): number {
  if (!(n >= 0) || n !== Math.floor(n)) return NaN;
  if (n === 0) return digammaOf(x);
  let factorial = 1;
  for (let k = 2; k <= n && factorial < Infinity; k++) factorial *= k;
  return (n % 2 === 0 ? -1 : 1) * factorial * zetaOf(n + 1, x);
}

/** The digamma function: DLMF 5.11.2 after a shift. */
function digammaOf(x: number): number {
  if (x <= 0 && x === Math.floor(x)) return NaN;
  if (x < 0.5) return digammaOf(1 - x) - Math.PI / Math.tan(Math.PI * (x - Math.round(x)));
  let shift = 0;
  for (; x < FAR; x++) shift -= 1 / x;
  const y = 1 / (x * x);
  const series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132)))));
  return shift + Math.log(x) - 0.5 / x - series;
}
