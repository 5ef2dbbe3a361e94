/**
 * Exponential functions and logarithms on four f32, computed in f32. Within two units in the last place of the exact result.
 * The polynomials are minimax fits, weighted by the error of the result.
 */
import { f32x4, i32x4 } from "./instructions.ts";
import type { F4, I4, Simd } from "./simd.ts";

/** `eʳ` for |r| ≤ ln 2 / 2: the first two are exact. */
const EXP = [
  1,
  1,
  0.4999999403953552,
  0.16666509211063385,
  0.04166853055357933,
  0.00837013591080904,
  0.0013811629032716155,
];
/** `(eʳ - 1 - r) / r²` for |r| ≤ ln 2 / 2. */
const EXPM1 = [
  0.4999999701976776,
  0.1666654646396637,
  0.04166744276881218,
  0.008366253226995468,
  0.0013869957765564322,
];
/** `(log(1 + f) - f + f²/2) / f³` for √½ ≤ 1 + f ≤ √2. */
const LOG = [
  0.3333331048488617,
  -0.24999986588954926,
  0.20002226531505585,
  -0.16669252514839172,
  0.14218665659427643,
  -0.12384330481290817,
  0.1187291219830513,
  -0.11789888143539429,
  0.06915591657161713,
];
/** `(tanh x / x - 1) / x²` in x², for |x| < 0.625. */
const TANH = [
  -0.3333328366279602,
  0.13331490755081177,
  -0.05374348163604736,
  0.02065053954720497,
  -0.005716997664421797,
];
/** `erf x / x - 1` in x², for |x| < 1. */
const ERF = [
  0.12837916612625122,
  -0.3761262595653534,
  0.11283600330352783,
  -0.026854444295167923,
  0.005189535673707724,
  -0.0008020843379199505,
  0.00007889122935011983,
];
/** `-log(1 - erf x)` for 0.95 ≤ x ≤ 4. */
const ERFC = [
  0.0002447818114887923,
  1.1274746656417847,
  0.637517511844635,
  0.1036398634314537,
  -0.022087406367063522,
  0.0030084755271673203,
  -0.0001924194220919162,
];

/** The stored form of the exponent 0. */
const BIAS = 127;
/** Adding this and an integer rounds to an integer, which then stands in the low bits with the other added. */
const ROUND = 1.5 * 2 ** 23;
const ROUND_BITS = 0x4b400000;
/** ln 2 in two parts; the first has few bits, so its multiples are exact. */
const LN2_HIGH = 0.693359375, LN2_LOW = -0.00021219444005469057;

/** `x = n ln 2 + r`: r, and `n + bias` in the low bits of an integer. */
function reduceExp(s: Simd, x: F4, bias: number = BIAS): { r: F4; bits: I4 } {
  const { f } = s;
  const t = f.let(s.madd(x, s.k(Math.LOG2E), s.k(ROUND + bias)));
  const n = f.let(f32x4.sub(t, s.k(ROUND + bias)));
  const r = f.let(s.madd(n, s.k(-LN2_LOW), s.madd(n, s.k(-LN2_HIGH), x)));
  return { r, bits: i32x4.ofBits(t) };
}

/** 2ⁿ for n within the exponents of normal numbers. */
function powerOfTwo(s: Simd, n: I4): F4 {
  return f32x4.ofBits(i32x4.shl(i32x4.add(n, s.i(BIAS)), 23));
}

export function exp(s: Simd, x: F4): F4 {
  const { f } = s;
  // pmin and pmax pass on a NaN in their first operand.
  const bounded = f.let(f32x4.pmax(f32x4.pmin(x, s.k(89)), s.k(-105)));
  const { r, bits } = reduceExp(s, bounded, 0);
  const power = f.let(s.poly(r, EXP));
  // Results below the normal numbers need two factors, and so does the last power before infinity.
  const n = f.let(i32x4.sub(bits, s.i(ROUND_BITS)));
  const first = f.let(i32x4.max(i32x4.min(n, s.i(127)), s.i(-126)));
  return f.let(
    f32x4.mul(f32x4.mul(power, powerOfTwo(s, first)), powerOfTwo(s, i32x4.sub(n, first))),
  );
}

/** eˣ where x is known to lie within ±87, or NaN. */
function expBounded(s: Simd, x: F4): F4 {
  const { r, bits } = reduceExp(s, x);
  return s.f.let(f32x4.mul(s.poly(r, EXP), f32x4.ofBits(i32x4.shl(bits, 23))));
}

/** eˣ where x is not positive, or NaN; 0 where the result is not a normal number. */
export function expNegative(s: Simd, x: F4): F4 {
  // Below the limit the exponent is arbitrary, and the result is discarded.
  return s.f.let(f32x4.andNot(expBounded(s, x), f32x4.ofBits(f32x4.lt(x, s.k(-87.33)))));
}

export function expm1(s: Simd, x: F4): F4 {
  const { f } = s;
  // Beyond these the result is -1 or infinite.
  const bounded = f.let(f32x4.pmax(f32x4.pmin(x, s.k(89)), s.k(-18)));
  // Half of the result, which has no power beyond the normal numbers.
  const { r, bits } = reduceExp(s, bounded, BIAS - 1);
  const minusOne = s.madd(f32x4.mul(r, r), s.poly(r, EXPM1), r);
  const scale = f.let(f32x4.ofBits(i32x4.shl(bits, 23)));
  const half = f.let(s.madd(minusOne, scale, f32x4.sub(scale, s.k(0.5))));
  return f.let(s.copySign(f32x4.add(half, half), x));
}

/** 1 / (1 + eˣ). */
export function logistic(s: Simd, x: F4): F4 {
  const { f } = s;
  const bounded = f.let(f32x4.pmax(f32x4.pmin(x, s.k(89.4)), s.k(-30)));
  // With halves the power is infinite only where the result is 0.
  const { r, bits } = reduceExp(s, bounded, BIAS - 1);
  const scale = f32x4.ofBits(i32x4.shl(bits, 23));
  return f.let(f32x4.div(s.k(0.5), s.madd(s.poly(r, EXP), scale, s.k(0.5))));
}

/** The exponent and `y` of a normal number `2ⁿ (1 + y)`, √½ ≤ 1 + y ≤ √2. */
function splitExponent(s: Simd, bits: I4): { n: F4; y: F4 } {
  const { f } = s;
  const e = f.let(i32x4.shr(i32x4.sub(bits, s.i(0x3f3504f3)), 23));
  const y = f.let(f32x4.sub(f32x4.ofBits(i32x4.sub(bits, i32x4.shl(e, 23))), s.k(1)));
  return { n: f.let(f32x4.ofI32(e)), y };
}

/** `n ln 2 + log(1 + y) + low`. */
function sumLog(s: Simd, n: F4, y: F4, low: F4 | null = null): F4 {
  const { f } = s;
  const z = f.let(f32x4.mul(y, y));
  const cubic = f32x4.mul(f32x4.mul(y, z), s.poly(y, LOG));
  const rest = s.madd(n, s.k(LN2_LOW), low ? f32x4.add(cubic, low) : cubic);
  const sum = f32x4.add(y, s.madd(z, s.k(-0.5), rest));
  return f.let(s.madd(n, s.k(LN2_HIGH), sum));
}

/** Returns a logarithm's result where x is above `zero`; there it is -∞, below and for NaN it is NaN, for ∞ it is ∞. */
function guardLog(s: Simd, x: F4, result: F4, zero: number): F4 {
  const large = f32x4.select(x, result, f32x4.eq(x, s.k(Infinity)));
  const outside = f32x4.select(s.k(-Infinity), s.k(NaN), f32x4.eq(x, s.k(zero)));
  return s.f.let(f32x4.select(large, outside, f32x4.gt(x, s.k(zero))));
}

export function log(s: Simd, x: F4): F4 {
  const { f } = s;
  const tiny = f.let(f32x4.lt(x, s.k(2 ** -126)));
  const bits = f.let(i32x4.ofBits(f32x4.select(f32x4.mul(x, s.k(2 ** 23)), x, tiny)));
  const { n, y } = splitExponent(s, bits);
  const exponent = f.let(f32x4.sub(n, f32x4.and(f32x4.ofBits(tiny), s.k(23))));
  return guardLog(s, x, sumLog(s, exponent, y), 0);
}

export function log1p(s: Simd, x: F4): F4 {
  const { f } = s;
  const u = f.let(f32x4.add(x, s.k(1)));
  // The rounding error of 1 + x.
  const lost = f.let(f32x4.div(f32x4.sub(x, f32x4.sub(u, s.k(1))), u));
  const { n, y } = splitExponent(s, f.let(i32x4.ofBits(u)));
  // 0 keeps its sign.
  return guardLog(s, x, s.copySign(sumLog(s, n, y, lost), x), -1);
}

export function tanh(s: Simd, x: F4): F4 {
  const { f } = s;
  const a = f.let(s.abs(x));
  const z = f.let(f32x4.mul(a, a));
  const small = s.madd(f32x4.mul(a, z), s.poly(z, TANH), a);
  const e = expBounded(s, f.let(f32x4.mul(f32x4.pmin(a, s.k(10)), s.k(2))));
  const large = f32x4.sub(s.k(1), f32x4.div(s.k(2), f32x4.add(e, s.k(1))));
  const either = f32x4.select(small, large, f32x4.lt(a, s.k(0.625)));
  return f.let(s.copySign(either, x));
}

export function erf(s: Simd, x: F4): F4 {
  const { f } = s;
  const a = f.let(s.abs(x));
  const z = f.let(f32x4.mul(a, a));
  const small = s.madd(a, s.poly(z, ERF), a);
  const b = f.let(f32x4.pmin(a, s.k(4)));
  const large = f32x4.sub(s.k(1), expBounded(s, f.let(f32x4.neg(s.poly(b, ERFC)))));
  const either = f32x4.select(small, large, f32x4.lt(a, s.k(1)));
  return f.let(s.copySign(either, x));
}
