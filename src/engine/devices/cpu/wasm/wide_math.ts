/**
 * Elementary functions on two f64 that come from f32 and go back to f32: exact to about eleven digits, so the rounded
 * result is the nearest or next to it. For functions whose f32 forms lose digits, and for powers, whose special cases
 * are decided in f32.
 */
import { f32x4, f64x2, i32, i32x4, i64x2 } from "./instructions.ts";
import type { D2, F4, Simd } from "./simd.ts";

/** `(eʳ - 1 - r) / r²` for |r| ≤ ln 2 / 2. */
const EXP = [
  0.5000000000429612,
  0.16666666785145098,
  0.04166666439441545,
  0.008333281602787552,
  0.0013889197961035416,
  0.0001990907391302255,
  0.000024708271356560436,
];
/** `(artanh s / s - 1) / s²` in s². */
const LOG = [
  0.33333333337922566,
  0.19999997802552105,
  0.14286055548371437,
  0.1108805063921639,
  0.09792748474045865,
];
/** `(sin r / r - 1) / r²` in r², for |r| ≤ π/4. */
const SIN = [
  -0.1666666666663128,
  0.008333333325213414,
  -0.00019841263790135847,
  0.000002755535060124002,
  -2.4761122236208725e-8,
];
/** `(cos r - 1 + r²/2) / r⁴` in r². */
const COS = [
  0.04166666662247789,
  -0.0013888883722515506,
  0.00002479951170923388,
  -2.72095420410013e-7,
];
const LN2_HIGH = 0.6931471805592082, LN2_LOW = 7.371002565167799e-13;
const HALF_PI_HIGH = 1.5707963267341256, HALF_PI_LOW = 6.077100506506192e-11;
/** Adding this leaves an integer in the low bits. */
const ROUND = 6755399441055744;

/** Beyond this, multiples of π/2 are no longer exact: see {@linkcode Simd.rareHost}. */
export const TRIG_LIMIT = 1.6e6;

/** `2ⁿ` and `eʳ - 1` where `x = n ln 2 + r`. x must lie within ±700. */
function reduceExp(s: Simd, x: D2): { scale: D2; minusOne: D2 } {
  const { f } = s;
  const t = f.let(s.madd(x, s.d(Math.LOG2E), s.d(ROUND)));
  const n = f.let(f64x2.sub(t, s.d(ROUND)));
  const r = f.let(s.madd(n, s.d(-LN2_LOW), s.madd(n, s.d(-LN2_HIGH), x)));
  const minusOne = f.let(s.madd(f64x2.mul(r, r), s.poly(r, EXP), r));
  const scale = f.let(
    f64x2.ofBits(i64x2.shl(i64x2.add(i64x2.ofBits(t), f.constant("i64x2", 1023)), 52)),
  );
  return { scale, minusOne };
}

/** Clamps to a range wide enough for every f32: its results beyond are 0 or infinite. */
function bounded(s: Simd, x: D2): D2 {
  return s.f.let(f64x2.pmax(f64x2.pmin(x, s.d(200)), s.d(-200)));
}

/** eˣ, clamped to e^±200. */
export function exp(s: Simd, x: D2): D2 {
  const { scale, minusOne } = reduceExp(s, bounded(s, x));
  return s.f.let(s.madd(scale, minusOne, scale));
}

export function expm1(s: Simd, x: D2): D2 {
  const { scale, minusOne } = reduceExp(s, bounded(s, x));
  const e = s.madd(scale, minusOne, f64x2.sub(scale, s.d(1)));
  return s.f.let(f64x2.select(x, e, f64x2.eq(x, s.d(0))));
}

/** Natural logarithm of a finite number above 0, never of a subnormal f64; of others it is arbitrary. */
function logPositive(s: Simd, x: D2): D2 {
  const { f } = s;
  const bits = f.let(i64x2.ofBits(x));
  // The exponent that leaves √½ ≤ m < √2, as an integer in the low bits of a float near 2⁵².
  const shifted = f.let(
    i64x2.add(bits, f.constant("i64x2", 0x3ff0000000000000 - 0x3fe6a09e667f3bcc)),
  );
  const e = f.let(i64x2.shrU(shifted, 52));
  const n = f.let(
    f64x2.sub(f64x2.ofBits(i64x2.or(e, i64x2.ofBits(s.d(2 ** 52)))), s.d(2 ** 52 + 1023)),
  );
  const unscale = i64x2.sub(i64x2.shl(e, 52), f.constant("i64x2", 0x3ff0000000000000));
  const y = f.let(f64x2.sub(f64x2.ofBits(i64x2.sub(bits, unscale)), s.d(1)));
  const q = f.let(f64x2.div(y, f64x2.add(y, s.d(2))));
  const z = f.let(f64x2.mul(q, q));
  const twice = f.let(f64x2.add(q, q));
  const fraction = s.madd(f64x2.mul(twice, z), s.poly(z, LOG), twice);
  return f.let(s.madd(n, s.d(Math.LN2), fraction));
}

/** Natural logarithm; never of a subnormal f64. */
export function log(s: Simd, x: D2): D2 {
  const { f } = s;
  const result = logPositive(s, x);
  const large = f64x2.select(x, result, f64x2.eq(x, s.d(Infinity)));
  const outside = f64x2.select(s.d(-Infinity), s.d(NaN), f64x2.eq(x, s.d(0)));
  return f.let(f64x2.select(large, outside, f64x2.gt(x, s.d(0))));
}

export function log1p(s: Simd, x: D2): D2 {
  const { f } = s;
  const u = f.let(f64x2.add(x, s.d(1)));
  const l = log(s, u);
  // The rounding error of 1 + x.
  const lost = f64x2.div(f64x2.sub(x, f64x2.sub(u, s.d(1))), u);
  const exact = f64x2.select(x, f64x2.add(l, lost), f64x2.eq(x, s.d(0)));
  // No correction applies up to -1, and at ∞.
  const corrected = f64x2.select(exact, l, f64x2.gt(x, s.d(-1)));
  return f.let(f64x2.select(x, corrected, f64x2.eq(x, s.d(Infinity))));
}

export function sinh(s: Simd, x: D2): D2 {
  const { f } = s;
  const e = expm1(s, f.let(f64x2.abs(x)));
  const sum = f64x2.add(e, f64x2.div(e, f64x2.add(e, s.d(1))));
  return f.let(s.copySign(f64x2.mul(sum, s.d(0.5)), x));
}

export function cosh(s: Simd, x: D2): D2 {
  const e = exp(s, s.f.let(f64x2.abs(x)));
  return s.f.let(f64x2.mul(f64x2.add(e, f64x2.div(s.d(1), e)), s.d(0.5)));
}

export function asinh(s: Simd, x: D2): D2 {
  const { f } = s;
  const a = f.let(f64x2.abs(x));
  const z = f.let(f64x2.mul(a, a));
  const root = f64x2.add(f64x2.sqrt(f64x2.add(z, s.d(1))), s.d(1));
  const r = log1p(s, f.let(f64x2.add(a, f64x2.div(z, root))));
  return f.let(s.copySign(f64x2.select(a, r, f64x2.eq(a, s.d(Infinity))), x));
}

export function acosh(s: Simd, x: D2): D2 {
  const { f } = s;
  const t = f.let(f64x2.sub(x, s.d(1)));
  const r = log1p(s, f.let(f64x2.add(t, f64x2.sqrt(f64x2.mul(t, f64x2.add(t, s.d(2)))))));
  return f.let(f64x2.select(s.d(NaN), r, f64x2.lt(t, s.d(0))));
}

export function atanh(s: Simd, x: D2): D2 {
  const { f } = s;
  const a = f.let(f64x2.abs(x));
  const r = log1p(s, f.let(f64x2.div(f64x2.add(a, a), f64x2.sub(s.d(1), a))));
  return f.let(s.copySign(f64x2.mul(r, s.d(0.5)), x));
}

/** sin and cos of x, which must lie within {@linkcode TRIG_LIMIT}. */
export function sinCos(s: Simd, x: D2): { sin: D2; cos: D2 } {
  const { f } = s;
  const n = f.let(f64x2.nearest(f64x2.mul(x, s.d(2 / Math.PI))));
  const r = f.let(s.madd(n, s.d(-HALF_PI_LOW), s.madd(n, s.d(-HALF_PI_HIGH), x)));
  const z = f.let(f64x2.mul(r, r));
  const sin = f.let(s.madd(f64x2.mul(r, z), s.poly(z, SIN), r));
  const cos = f.let(s.madd(f64x2.mul(z, z), s.poly(z, COS), s.madd(z, s.d(-0.5), s.d(1))));
  const half = f.let(f64x2.mul(n, s.d(0.5)));
  const turns = f.let(f64x2.floor(half));
  const odd = f.let(f64x2.ne(half, turns));
  const quarter = f.let(f64x2.mul(turns, s.d(0.5)));
  const flip = f.let(f64x2.and(f64x2.ofBits(f64x2.ne(quarter, f64x2.floor(quarter))), s.d(-0)));
  const oddFlip = f64x2.and(f64x2.ofBits(odd), s.d(-0));
  return {
    sin: f.let(f64x2.xor(f64x2.select(cos, sin, odd), flip)),
    cos: f.let(f64x2.xor(f64x2.select(sin, cos, odd), f64x2.xor(flip, oddFlip))),
  };
}

/** Sine; 0 keeps its sign. */
export function sin(s: Simd, x: D2): D2 {
  return s.f.let(f64x2.select(x, sinCos(s, x).sin, f64x2.eq(x, s.d(0))));
}
export function cos(s: Simd, x: D2): D2 {
  return sinCos(s, x).cos;
}
/** Tangent; 0 keeps its sign. */
export function tan(s: Simd, x: D2): D2 {
  const both = sinCos(s, x);
  return s.f.let(f64x2.select(x, f64x2.div(both.sin, both.cos), f64x2.eq(x, s.d(0))));
}

/** xʸ for finite x above 0; for others it is arbitrary. */
function powPositive(s: Simd, x: D2, y: D2): D2 {
  return exp(s, s.f.let(f64x2.mul(y, logPositive(s, x))));
}

/** xʸ as in C and TensorFlow: powers of 1 are 1, and of -1 where y is infinite. */
export function pow(s: Simd, x: F4, y: F4): F4 {
  const { f } = s;
  const infinity = s.k(Infinity);
  const power = s.wide([f.let(s.abs(x)), y], (b, e) => powPositive(s, b, e));
  const out = f.variable("f32x4", power);
  const finite = f32x4.and(
    f32x4.ofBits(f32x4.lt(x, infinity)),
    f32x4.ofBits(f32x4.lt(s.abs(y), infinity)),
  );
  const ordinary = f32x4.and(finite, f32x4.ofBits(f32x4.gt(x, s.k(0))));
  f.if(i32.eqz(i32.allTrue(i32x4.ofBits(ordinary))), () => f.set(out, special(s, x, y, out)));
  return out;
}

/** xʸ for any x and y, given that of ordinary ones, and the magnitude of |x|ʸ for x < 0. */
function special(s: Simd, x: F4, y: F4, power: F4): F4 {
  const { f } = s;
  const base = f.let(s.abs(x));
  const endless = f.let(f32x4.ofBits(f32x4.eq(base, s.k(Infinity))));
  const shrinking = f32x4.ofBits(f32x4.lt(y, s.k(0)));
  const edge = f32x4.or(endless, f32x4.ofBits(f32x4.eq(base, s.k(0))));
  const atEdge = f32x4.and(f32x4.xor(endless, shrinking), s.k(Infinity));
  const inner = f32x4.select(atEdge, power, f.let(edge));
  const unknown = f32x4.or(f32x4.ofBits(f32x4.ne(x, x)), f32x4.ofBits(f32x4.ne(y, y)));
  const known = f32x4.select(s.k(NaN), inner, f.let(unknown));
  const magnitude = f32x4.select(s.k(1), known, f32x4.eq(base, s.k(1)));
  const whole = f.let(f32x4.ofBits(f32x4.eq(y, f32x4.trunc(y))));
  const half = f.let(f32x4.mul(y, s.k(0.5)));
  const odd = f32x4.and(whole, f32x4.ofBits(f32x4.ne(half, f32x4.trunc(half))));
  const sign = f32x4.and(f32x4.and(odd, x), s.k(-0));
  // A negative number has only integer powers.
  const negative = f32x4.ofBits(f32x4.lt(x, s.k(0)));
  const bad = f.let(f32x4.andNot(f32x4.andNot(negative, whole), endless));
  const result = f32x4.select(s.k(NaN), f32x4.or(magnitude, sign), bad);
  return f32x4.select(s.k(1), result, f32x4.eq(y, s.k(0)));
}
