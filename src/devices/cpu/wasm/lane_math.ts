/**
 * Elementary functions on four f32, computed in f32: exp, log, tanh, erf. Within two units in the last place of the exact result.
 * The polynomials are minimax fits, weighted by the error of the result.
 * May import the emitter.
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

/** What the exponent 0 is stored as. */
const BIAS = 127;
/** Adding this rounds to an integer, which then stands in the low bits, as an exponent is stored. */
const ROUND = 1.5 * 2 ** 23 + BIAS;
const ROUND_BITS = 0x4b400000 + BIAS;
/** ln 2 in two parts; the first has few bits, so its multiples are exact. */
const LN2_HIGH = 0.693359375, LN2_LOW = -0.00021219444005469057;

/** `x = n ln 2 + r`: `eʳ`, and n as a stored exponent in the low bits of an integer. */
function reduceExp(s: Simd, x: F4): { power: F4; bits: I4 } {
  const { f } = s;
  const t = f.let(s.madd(x, s.k(Math.LOG2E), s.k(ROUND)));
  const n = f.let(f32x4.sub(t, s.k(ROUND)));
  const r = f.let(s.madd(n, s.k(-LN2_LOW), s.madd(n, s.k(-LN2_HIGH), x)));
  return { power: f.let(s.poly(r, EXP)), bits: i32x4.ofBits(t) };
}

/** 2ⁿ for n within the exponents of normal numbers. */
function powerOfTwo(s: Simd, n: I4): F4 {
  return f32x4.ofBits(i32x4.shl(i32x4.add(n, s.i(BIAS)), 23));
}

/** eˣ. */
export function exp(s: Simd, x: F4): F4 {
  const { f } = s;
  // pmin and pmax hand a NaN in their first operand on.
  const bounded = f.let(f32x4.pmax(f32x4.pmin(x, s.k(89)), s.k(-105)));
  const { power, bits } = reduceExp(s, bounded);
  // Results below the normal numbers need two factors, and so does the last power before infinity.
  const n = f.let(i32x4.sub(bits, s.i(ROUND_BITS)));
  const first = f.let(i32x4.max(i32x4.min(n, s.i(127)), s.i(-126)));
  return f.let(
    f32x4.mul(f32x4.mul(power, powerOfTwo(s, first)), powerOfTwo(s, i32x4.sub(n, first))),
  );
}

/** eˣ where x is known to lie within ±87, or NaN. */
function expBounded(s: Simd, x: F4): F4 {
  const { power, bits } = reduceExp(s, x);
  return s.f.let(f32x4.mul(power, f32x4.ofBits(i32x4.shl(bits, 23))));
}

/** eˣ where x is not positive, or NaN; 0 where the result is not a normal number. */
export function expNegative(s: Simd, x: F4): F4 {
  // Below the limit the exponent is anything, and the result is thrown away.
  return s.f.let(f32x4.andNot(expBounded(s, x), f32x4.ofBits(f32x4.lt(x, s.k(-87.33)))));
}

/** Natural logarithm. */
export function log(s: Simd, x: F4): F4 {
  const { f } = s;
  const tiny = f.let(f32x4.lt(x, s.k(2 ** -126)));
  const bits = f.let(i32x4.ofBits(f32x4.select(f32x4.mul(x, s.k(2 ** 23)), x, tiny)));
  const e = f.let(i32x4.shr(i32x4.sub(bits, s.i(0x3f3504f3)), 23));
  const n = f.let(f32x4.sub(f32x4.ofI32(e), f32x4.and(f32x4.ofBits(tiny), s.k(23))));
  const y = f.let(f32x4.sub(f32x4.ofBits(i32x4.sub(bits, i32x4.shl(e, 23))), s.k(1)));
  const z = f.let(f32x4.mul(y, y));
  const low = s.madd(n, s.k(LN2_LOW), f32x4.mul(f32x4.mul(y, z), s.poly(y, LOG)));
  const sum = f32x4.add(y, s.madd(z, s.k(-0.5), low));
  const result = f.let(s.madd(n, s.k(LN2_HIGH), sum));
  // log ∞ = ∞; log 0 = -∞; less than 0 and NaN give NaN.
  const large = f32x4.select(x, result, f32x4.eq(x, s.k(Infinity)));
  const outside = f32x4.select(s.k(-Infinity), s.k(NaN), f32x4.eq(x, s.k(0)));
  return f.let(f32x4.select(large, outside, f32x4.gt(x, s.k(0))));
}

/** Hyperbolic tangent. */
export function tanh(s: Simd, x: F4): F4 {
  const { f } = s;
  const a = f.let(f32x4.abs(x));
  const z = f.let(f32x4.mul(a, a));
  const small = s.madd(f32x4.mul(a, z), s.poly(z, TANH), a);
  const e = expBounded(s, f.let(f32x4.mul(f32x4.pmin(a, s.k(10)), s.k(2))));
  const large = f32x4.sub(s.k(1), f32x4.div(s.k(2), f32x4.add(e, s.k(1))));
  const either = f32x4.select(small, large, f32x4.lt(a, s.k(0.625)));
  return f.let(s.copySign(either, x));
}

/** Error function. */
export function erf(s: Simd, x: F4): F4 {
  const { f } = s;
  const a = f.let(f32x4.abs(x));
  const z = f.let(f32x4.mul(a, a));
  const small = s.madd(a, s.poly(z, ERF), a);
  const b = f.let(f32x4.pmin(a, s.k(4)));
  const large = f32x4.sub(s.k(1), expBounded(s, f.let(f32x4.neg(s.poly(b, ERFC)))));
  const either = f32x4.select(small, large, f32x4.lt(a, s.k(1)));
  return f.let(s.copySign(either, x));
}
