/**
 * Inverse trigonometric functions on four f32, computed in f32. Within two units in the last place of the exact result.
 * The polynomials are minimax fits, weighted by the error of the result.
 */
import { f32x4, i32x4 } from "./instructions.ts";
import type { F4, Simd } from "./simd.ts";

/** `(arcsin r / r - 1) / r²` in r², for |r| ≤ ½. */
const ASIN = [
  0.16666752099990845,
  0.074953094124794,
  0.04546914994716644,
  0.024184778332710266,
  0.042158305644989014,
];
/** `(arctan t / t - 1) / t²` in t², for |t| ≤ 1. */
const ATAN = [
  -0.33333152532577515,
  0.19993767142295837,
  -0.14211001992225647,
  0.10665770620107651,
  -0.0755167081952095,
  0.043204985558986664,
  -0.01636345125734806,
  0.0029195179231464863,
];
/** π and π/2 in two parts: the nearest f32, and the rounding error. */
const PI_HIGH = Math.fround(Math.PI), PI_LOW = Math.PI - PI_HIGH;
const HALF_PI_HIGH = PI_HIGH / 2, HALF_PI_LOW = PI_LOW / 2;

/**
 * Computes an angle in two parts, whose sum is arcsin |x| up to ½. Where |x| is `far` beyond, it is half the angle
 * between x and ±1: small enough for the same polynomial.
 */
function arc(s: Simd, x: F4): { far: F4; high: F4; low: F4 } {
  const { f } = s;
  const a = f.let(s.abs(x));
  const far = f.let(f32x4.ofBits(f32x4.gt(a, s.k(0.5))));
  const z = f.let(f32x4.select(s.madd(a, s.k(-0.5), s.k(0.5)), f32x4.mul(a, a), far));
  const high = f.let(f32x4.select(f32x4.sqrt(z), a, far));
  return { far, high, low: f.let(f32x4.mul(f32x4.mul(high, z), s.poly(z, ASIN))) };
}

/** Inverse sine; NaN for |x| > 1. */
export function asin(s: Simd, x: F4): F4 {
  const { f } = s;
  const { far, high, low } = arc(s, x);
  const twice = f.let(f32x4.add(high, high));
  const steep = f.let(f32x4.sub(s.k(HALF_PI_HIGH), twice));
  // The rounding error of the difference.
  const lost = f32x4.sub(f32x4.sub(s.k(HALF_PI_HIGH), steep), twice);
  const rest = f32x4.add(lost, f32x4.sub(s.k(HALF_PI_LOW), f32x4.add(low, low)));
  return f.let(s.copySign(f32x4.select(f32x4.add(steep, rest), f32x4.add(high, low), far), x));
}

/** Inverse cosine; NaN for |x| > 1. */
export function acos(s: Simd, x: F4): F4 {
  const { f } = s;
  const { far, high, low } = arc(s, x);
  const left = f.let(f32x4.ofBits(f32x4.lt(x, s.k(0))));
  const base = (pi: number): F4 => f.let(f32x4.select(f32x4.and(left, s.k(pi)), s.k(pi / 2), far));
  // Beyond ½ twice the half angle is counted from 0 or back from π, else the angle goes from π/2 to the other side.
  const times = f.let(f32x4.xor(f32x4.select(s.k(2), s.k(-1), far), f32x4.and(x, s.k(-0))));
  return f.let(
    f32x4.add(s.madd(times, high, base(PI_HIGH)), s.madd(times, low, base(PI_LOW))),
  );
}

/** arctan t for 0 ≤ t ≤ 1. */
function arcTangent(s: Simd, t: F4): F4 {
  const z = s.f.let(f32x4.mul(t, t));
  return s.madd(f32x4.mul(t, z), s.poly(z, ATAN), t);
}

export function atan(s: Simd, x: F4): F4 {
  const { f } = s;
  const a = f.let(s.abs(x));
  const steep = f.let(f32x4.gt(a, s.k(1)));
  const t = f32x4.div(f32x4.select(s.k(1), a, steep), f32x4.select(a, s.k(1), steep));
  const angle = f.let(arcTangent(s, f.let(t)));
  const rest = f32x4.sub(s.k(HALF_PI_HIGH), f32x4.sub(angle, s.k(HALF_PI_LOW)));
  return f.let(s.copySign(f32x4.select(rest, angle, steep), x));
}

/** The angle of the point (x, y). */
export function atan2(s: Simd, y: F4, x: F4): F4 {
  const { f } = s;
  const ay = f.let(s.abs(y)), ax = f.let(s.abs(x));
  const steep = f.let(f32x4.gt(ay, ax));
  const short = f.let(f32x4.select(ax, ay, steep)), long = f.let(f32x4.select(ay, ax, steep));
  // Equal legs, including 0 and ∞: the angle is 0 or π/4.
  const even = f32x4.and(f32x4.ofBits(f32x4.gt(short, s.k(0))), s.k(1));
  const t = f32x4.select(even, f32x4.div(short, long), f32x4.eq(short, long));
  const angle = f.let(arcTangent(s, f.let(t)));
  const left = f.let(f32x4.ofBits(i32x4.shr(i32x4.ofBits(x), 31)));
  const base = (pi: number): F4 =>
    f.let(f32x4.select(s.k(pi / 2), f32x4.and(left, s.k(pi)), steep));
  const back = f32x4.and(f32x4.xor(left, f32x4.ofBits(steep)), s.k(-0));
  const turned = f32x4.add(f32x4.xor(angle, back), base(PI_LOW));
  return f.let(s.copySign(f32x4.add(base(PI_HIGH), turned), y));
}
