/** The regularized incomplete gamma functions and their slope in the first argument, on the host, in float64. */
import { logGamma } from "./beta.ts";
import { polygammaOf } from "./zeta.ts";

/** A number and its derivative with respect to `a`. */
interface Dual {
  readonly value: number;
  readonly slope: number;
}

/** Most terms of a series or a fraction: both need about the square root of `a` where `x` is near it. */
const MOST_TERMS = 100_000;
const SMALL = 1e-17;

/**
 * Multiplies a function `rest` by the front factor `x ** a * exp(-x) / Γ(a + 1)`, with the derivative of the product.
 */
function withFront(a: number, x: number, rest: Dual): Dual {
  const front = Math.exp(a * Math.log(x) - x - logGamma(a + 1));
  const slope = Math.log(x) - polygammaOf(0, a + 1);
  return { value: front * rest.value, slope: front * (rest.slope + rest.value * slope) };
}

/** The lower function below the mean, by its series: DLMF 8.11.4. */
function lowerSeries(a: number, x: number): Dual {
  let term = 1, value = 1, relative = 0, slope = 0;
  for (let n = 1; n <= MOST_TERMS && term > SMALL * value; n++) {
    term *= x / (a + n);
    relative -= 1 / (a + n);
    value += term;
    slope += term * relative;
  }
  return withFront(a, x, { value, slope });
}

/**
 * Computes the upper function above the mean, by its continued fraction (DLMF 8.9.2), whose convergents are scaled to
 * stay in range.
 */
function upperFraction(a: number, x: number): Dual {
  let p = [0, 1], q = [1, x + 1 - a], dp = [0, 0], dq = [0, -1];
  let value = p[1] / q[1], slope = -p[1] * dq[1] / q[1] ** 2;
  for (let n = 1; n <= MOST_TERMS; n++) {
    const factor = n * (a - n), shift = x + 2 * n + 1 - a;
    const next = (v: number[]): number => shift * v[1] + factor * v[0];
    const p2 = next(p), q2 = next(q);
    const dp2 = next(dp) - p[1] + n * p[0], dq2 = next(dq) - q[1] + n * q[0];
    const scale = Math.abs(q2) > 1e100 ? 1e-100 : 1;
    [p, q, dp, dq] = [[p[1], p2], [q[1], q2], [dp[1], dp2], [dq[1], dq2]]
      .map((pair) => pair.map((v) => v * scale));
    const last = value, before = slope;
    value = p[1] / q[1];
    slope = (dp[1] - value * dq[1]) / q[1];
    const isClose = Math.abs(value - last) <= SMALL * Math.abs(value);
    if (isClose && Math.abs(slope - before) <= 1e-15 * Math.abs(slope)) break;
  }
  // The front of the fraction is that of the series times a.
  return withFront(a, x, { value: a * value, slope: value + a * slope });
}

/** Computes P(a, x) and its slope, or Q(a, x) for the complement; each without subtracting close numbers. */
function incomplete(a: number, x: number, isUpper: boolean): Dual {
  if (!(a >= 0 && x >= 0) || a === 0 && x === 0 || a === Infinity && x === Infinity) {
    return { value: NaN, slope: NaN };
  }
  if (x === 0 || a === Infinity) return { value: isUpper ? 1 : 0, slope: 0 };
  if (x === Infinity) return { value: isUpper ? 0 : 1, slope: 0 };
  if (a === 0) return { value: NaN, slope: NaN };
  const isBelow = x <= a + 1, { value, slope } = isBelow ? lowerSeries(a, x) : upperFraction(a, x);
  return isBelow === isUpper ? { value: 1 - value, slope: -slope } : { value, slope };
}

/** P(a, x): NaN where `a` is not positive or `x` is negative. */
export const lowerGamma = (a: number, x: number): number => incomplete(a, x, false).value;

/** Q(a, x), which is 1 - P(a, x). */
export const upperGamma = (a: number, x: number): number => incomplete(a, x, true).value;

/** The derivative of P(a, x) with respect to `a`. */
export const lowerGammaSlope = (a: number, x: number): number => incomplete(a, x, false).slope;

/**
 * The derivative of a number `x` drawn from the gamma distribution of shape `a` with respect to that, where its part of the distribution stays
 * (M. Figurnov et al., "Implicit reparameterization gradients", 2018).
 */
export function gammaSampleSlope(a: number, x: number): number {
  if (x === 0) return 0;
  return -lowerGammaSlope(a, x) / Math.exp((a - 1) * Math.log(x) - x - logGamma(a));
}
