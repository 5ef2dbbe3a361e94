/**
 * Powers of four f32: their magnitudes in f64, what is special about them in f32.
 */
import { f32x4, i32, i32x4 } from "./instructions.ts";
import type { F4, Simd } from "./simd.ts";
import { powPositive } from "./wide_math.ts";

/** xʸ as C and TensorFlow have it: powers of 1 are 1, and of -1 where y is infinite. */
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

/** xʸ for any x and y, where that of ordinary ones is known, and where the magnitude of |x|ʸ is for x < 0. */
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
  // A negative number has only whole powers.
  const negative = f32x4.ofBits(f32x4.lt(x, s.k(0)));
  const bad = f.let(f32x4.andNot(f32x4.andNot(negative, whole), endless));
  const result = f32x4.select(s.k(NaN), f32x4.or(magnitude, sign), bad);
  return f32x4.select(s.k(1), result, f32x4.eq(y, s.k(0)));
}
