/**
 * Bessel functions of orders 0 and 1, to float64's digits: series, Hankel's asymptotic expansions, Miller's backward
 * recurrence and the trapezoidal rule, after M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions" (1964),
 * chapter 9.
 */

/** Euler's constant. */
const GAMMA = 0.5772156649015329;

/** Sums `first * (ratio of k)` until terms no longer count. */
function series(first: number, ratio: (k: number) => number): number {
  let term = first, sum = first;
  for (let k = 1; k < 500 && Math.abs(term) > 1e-18 * Math.abs(sum); k++) sum += term *= ratio(k);
  return sum;
}

/** Sums Hankel's series of an order, whose terms fall before they grow. */
function asymptotic(order: number, x: number): number {
  const mu = 4 * order * order;
  let term = 1, sum = 1;
  for (let k = 1; k < 60; k++) {
    const next = -term * (mu - (2 * k - 1) ** 2) / (k * 8 * x);
    if (Math.abs(next) >= Math.abs(term) || next === 0) break;
    sum += term = next;
  }
  return sum;
}

/** `exp(-|x|) * I(x)` of order 0 or 1, the modified function of the first kind. */
export function besselIe(order: 0 | 1, x: number): number {
  const size = Math.abs(x), sign = order === 1 && x < 0 ? -1 : 1;
  if (Number.isNaN(x)) return x;
  if (size === Infinity) return 0;
  const square = x * x / 4;
  const value = size < 30
    ? Math.exp(-size) *
      series(order === 0 ? 1 : size / 2, (k) => square / (k * (k + order)))
    : asymptotic(order, size) / Math.sqrt(2 * Math.PI * size);
  return sign * value;
}

/** The modified function of the first kind of order 0 or 1. */
export function besselI(order: 0 | 1, x: number): number {
  if (Math.abs(x) === Infinity) return order === 1 ? x : Infinity;
  // Two factors: the exponential alone overflows before the product does.
  const half = Math.exp(Math.abs(x) / 2);
  return half * besselIe(order, x) * half;
}

/** `exp(x) * K(x)` of order 0 or 1, the modified function of the second kind: infinite at 0, NaN below. */
export function besselKe(order: 0 | 1, x: number): number {
  if (!(x >= 0)) return NaN;
  if (x === 0) return Infinity;
  if (x === Infinity) return 0;
  // The integral of exp(x - x cosh t) cosh(order t), of which the trapezoidal rule has all digits.
  const step = Math.min(1 / 16, 1 / (8 * Math.sqrt(x)));
  let sum = 0.5;
  for (let i = 1;; i++) {
    const t = i * step, grown = 2 * x * Math.sinh(t / 2) ** 2;
    const term = Math.exp(-grown) * (order === 0 ? 1 : Math.cosh(t));
    sum += term;
    if (grown > 1 && term < 1e-18 * sum) return sum * step;
  }
}

/** The modified function of the second kind of order 0 or 1. */
export const besselK = (order: 0 | 1, x: number): number => besselKe(order, x) * Math.exp(-x);

/** Functions of the first kind: J of each order up to about 2x, by Miller's recurrence. */
function miller(x: number): number[] {
  const top = 2 * Math.ceil((x + 40 + 4 * Math.cbrt(x)) / 2);
  const list = new Array<number>(top + 2).fill(0);
  list[top] = 1e-300;
  for (let n = top; n > 0; n--) {
    list[n - 1] = 2 * n / x * list[n] - list[n + 1];
    if (Math.abs(list[n - 1]) > 1e250) {
      for (let k = n - 1; k < list.length; k++) list[k] *= 1e-250;
    }
  }
  let total = list[0];
  for (let n = 2; n <= top; n += 2) total += 2 * list[n];
  return list.map((v) => v / total);
}

/** Amplitude and angle's parts of Hankel's expansions: P and Q of an order. */
function hankel(order: number, x: number): { p: number; q: number } {
  const mu = 4 * order * order;
  let term = 1, p = 1, q = 0;
  for (let k = 1; k < 60; k++) {
    const next = term * (mu - (2 * k - 1) ** 2) / (k * 8 * x);
    if (Math.abs(next) >= Math.abs(term) || Math.abs(next) < 1e-18) break;
    term = next;
    const signed = k % 4 === 2 || k % 4 === 3 ? -term : term;
    if (k % 2 === 0) p += signed;
    else q += signed;
  }
  return { p, q };
}

const FAR = 25;

/** The function of the first kind of order 0 or 1. */
export function besselJ(order: 0 | 1, x: number): number {
  const size = Math.abs(x), sign = order === 1 && x < 0 ? -1 : 1;
  if (size === Infinity) return 0;
  if (Number.isNaN(x)) return x;
  if (size < FAR) {
    const square = -x * x / 4;
    if (size < 1) return series(order === 0 ? 1 : x / 2, (k) => square / (k * (k + order)));
    return sign * miller(size)[order];
  }
  const { p, q } = hankel(order, size), turned = turn(order, size);
  return sign * Math.sqrt(2 / (Math.PI * size)) * (p * turned.cos - q * turned.sin);
}

/** Cosine and sine of `x - order π/2 - π/4`. */
function turn(order: number, x: number): { cos: number; sin: number } {
  const c = Math.cos(x), s = Math.sin(x), r = Math.SQRT1_2;
  return order === 0
    ? { cos: (c + s) * r, sin: (s - c) * r }
    : { cos: (s - c) * r, sin: -(s + c) * r };
}

/** The function of the second kind of order 0 or 1: minus infinity at 0, NaN below. */
export function besselY(order: 0 | 1, x: number): number {
  if (!(x >= 0)) return NaN;
  if (x === 0) return -Infinity;
  if (x === Infinity) return 0;
  if (x >= FAR) {
    const { p, q } = hankel(order, x), turned = turn(order, x);
    return Math.sqrt(2 / (Math.PI * x)) * (p * turned.sin + q * turned.cos);
  }
  // Neumann's series over functions of the first kind. Those of less than a number's square need no recurrence.
  if (x < 1e-8) {
    return order === 0 ? 2 / Math.PI * (Math.log(x / 2) + GAMMA) : -2 / (Math.PI * x);
  }
  const j = miller(x), log = Math.log(x / 2) + GAMMA;
  let sum = 0;
  for (let k = 1, alternating = -1; 2 * k + 1 < j.length; k++, alternating = -alternating) {
    sum += alternating *
      (order === 0 ? j[2 * k] / k : (2 * k + 1) / (k * (k + 1)) * j[2 * k + 1]);
  }
  return order === 0
    ? 2 / Math.PI * (log * j[0] - 2 * sum)
    : 2 / Math.PI * ((log - 1) * j[1] - j[0] / x - sum);
}
