/**
 * WGSL functions behind the scalar primitives: tests, comparisons, conversions, integers, quotients and roots. NaN and infinity
 * are tested by bits because compilers may assume they do not exist.
 * May import nothing.
 */

/** A function and the functions it calls. */
export interface WgslHelper {
  /** Names of the functions it calls. */
  readonly needs?: readonly string[];
  /** Its declaration. */
  readonly text: string;
}

const TESTS: Record<string, WgslHelper> = {
  isnan_: {
    text: `fn isnan_(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }`,
  },
  isinf_: {
    text: `fn isinf_(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }`,
  },
  isfinite_: {
    text: `fn isfinite_(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u; }`,
  },
  isnegative_: {
    text: `fn isnegative_(x: f32) -> bool { return (bitcast<u32>(x) & 0x80000000u) != 0u; }`,
  },
  // Through a variable: constant NaN and infinity are errors.
  nan_: { text: `fn nan_() -> f32 { var u = 0x7fc00000u; return bitcast<f32>(u); }` },
  inf_: { text: `fn inf_() -> f32 { var u = 0x7f800000u; return bitcast<f32>(u); }` },
  withsign_: {
    text: `fn withsign_(r: f32, x: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(r) & 0x7fffffffu) | (bitcast<u32>(x) & 0x80000000u));
}`,
  },
  lt_: {
    needs: ["isnan_"],
    text: `fn lt_(a: f32, b: f32) -> bool { return a < b && !isnan_(a) && !isnan_(b); }`,
  },
  le_: {
    needs: ["isnan_"],
    text: `fn le_(a: f32, b: f32) -> bool { return a <= b && !isnan_(a) && !isnan_(b); }`,
  },
  eq_: {
    needs: ["isnan_"],
    text: `fn eq_(a: f32, b: f32) -> bool { return a == b && !isnan_(a) && !isnan_(b); }`,
  },
  min_: {
    needs: ["isnan_"],
    text:
      `fn min_(a: f32, b: f32) -> f32 { return select(select(min(a, b), b, isnan_(b)), a, isnan_(a)); }`,
  },
  max_: {
    needs: ["isnan_"],
    text:
      `fn max_(a: f32, b: f32) -> f32 { return select(select(max(a, b), b, isnan_(b)), a, isnan_(a)); }`,
  },
  sign_: {
    needs: ["isnan_"],
    text: `fn sign_(x: f32) -> f32 { return select(sign(x), x, x == 0.0 || isnan_(x)); }`,
  },
};

const CONVERSIONS: Record<string, WgslHelper> = {
  toint_: {
    needs: ["isnan_"],
    text: `fn toint_(x: f32) -> i32 {
  let r = i32(clamp(x, -2147483648.0, 2147483520.0));
  return select(select(r, 2147483647, x >= 2147483648.0), 0, isnan_(x));
}`,
  },
  touint_: {
    needs: ["isnan_"],
    text: `fn touint_(x: f32) -> u32 {
  let r = u32(clamp(x, 0.0, 4294967040.0));
  return select(select(r, 0xffffffffu, x >= 4294967296.0), 0u, isnan_(x));
}`,
  },
};

const INTEGERS: Record<string, WgslHelper> = {
  ipow_: {
    text: `fn ipow_(a: i32, b: i32) -> i32 {
  if (b < 0) { return select(select(0, select(-1, 1, (b & 1) == 0), a == -1), 1, a == 1); }
  var r = 1; var x = a; var n = b;
  while (n > 0) { if ((n & 1) == 1) { r = r * x; } x = x * x; n = n >> 1u; }
  return r;
}`,
  },
  upow_: {
    text: `fn upow_(a: u32, b: u32) -> u32 {
  var r = 1u; var x = a; var n = b;
  while (n > 0u) { if ((n & 1u) == 1u) { r = r * x; } x = x * x; n = n >> 1u; }
  return r;
}`,
  },
  idiv_: { text: `fn idiv_(a: i32, b: i32) -> i32 { if (b == 0) { return 0; } return a / b; }` },
  udiv_: { text: `fn udiv_(a: u32, b: u32) -> u32 { if (b == 0u) { return 0u; } return a / b; }` },
  umod_: { text: `fn umod_(a: u32, b: u32) -> u32 { if (b == 0u) { return 0u; } return a % b; }` },
  itruncmod_: {
    text:
      `fn itruncmod_(a: i32, b: i32) -> i32 { if (b == 0) { return 0; } return a - b * (a / b); }`,
  },
  ifloordiv_: {
    text: `fn ifloordiv_(a: i32, b: i32) -> i32 {
  if (b == 0) { return 0; }
  let q = a / b; let r = a - b * q;
  return select(q, q - 1, r != 0 && ((r < 0) != (b < 0)));
}`,
  },
  ifloormod_: {
    text: `fn ifloormod_(a: i32, b: i32) -> i32 {
  if (b == 0) { return 0; }
  let r = a - b * (a / b);
  return select(r, r + b, r != 0 && ((r < 0) != (b < 0)));
}`,
  },
};

const DIVISION: Record<string, WgslHelper> = {
  // The floor of the rounded quotient. Built-in quotients may be off by some units: near a whole number n the remainder, from
  // products that need no rounding, says on which side the true quotient is, and whether it rounds to n.
  floordiv_: {
    text: `fn floordiv_(a: f32, b: f32) -> f32 {
  let t = a / b;
  let n = round(t);
  if (!(abs(t - n) <= abs(t) * 4.8e-7) || n == 0.0 || abs(t) >= 8388608.0) { return floor(t); }
  let bh = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
  let nh = bitcast<f32>(bitcast<u32>(n) & 0xfffff000u);
  let bl = b - bh; let nl = n - nh;
  let r = (((a - nh * bh) - nh * bl) - nl * bh) - nl * bl;
  let unit = bitcast<f32>(bitcast<u32>(abs(n)) & 0x7f800000u);
  let half = unit * select(5.9604645e-8, 2.9802322e-8, n == unit);
  let below = r != 0.0 && ((r < 0.0) != (b < 0.0)) && abs(r) > abs(b) * half;
  return select(n, n - 1.0, below);
}`,
  },
  // Exact without a fused multiply-add: eight bits of the quotient go at a time, so that their products with either half of
  // the divisor need no rounding.
  truncmod_: {
    needs: ["isnan_", "isinf_", "nan_", "withsign_"],
    text: `fn truncmod_(a: f32, b: f32) -> f32 {
  if (isnan_(a) || isnan_(b) || isinf_(a) || b == 0.0) { return nan_(); }
  if (isinf_(b)) { return a; }
  let y = abs(b);
  var r = abs(a);
  for (var i = 0; i < 40 && r >= y; i++) {
    let excess = i32(bitcast<u32>(r) >> 23u) - i32(bitcast<u32>(y) >> 23u) - 7;
    let e = max(excess, 0); let h = e >> 1u;
    let s = y * bitcast<f32>(u32(h + 127) << 23u) * bitcast<f32>(u32(e - h + 127) << 23u);
    let hi = bitcast<f32>(bitcast<u32>(s) & 0xfffff000u);
    let q = trunc(r / s);
    r = (r - q * hi) - q * (s - hi);
    r = select(r, r + s, r < 0.0);
    r = select(r, r - s, r >= s);
  }
  return withsign_(r, a);
}`,
  },
  floormod_: {
    needs: ["truncmod_"],
    text: `fn floormod_(a: f32, b: f32) -> f32 {
  let r = truncmod_(a, b);
  return select(r, r + b, r != 0.0 && ((r < 0.0) != (b < 0.0)));
}`,
  },
};

const ROOTS: Record<string, WgslHelper> = {
  sqrt_: {
    needs: ["nan_", "isnan_"],
    text: `fn sqrt_(x: f32) -> f32 {
  if (x < 0.0 || isnan_(x)) { return nan_(); }
  return select(sqrt(x), x, x == 0.0);
}`,
  },
  rsqrt_: {
    needs: ["nan_", "inf_", "isnan_", "isinf_", "isnegative_"],
    text: `fn rsqrt_(x: f32) -> f32 {
  if (x < 0.0 || isnan_(x)) { return nan_(); }
  if (x == 0.0) { return select(inf_(), -inf_(), isnegative_(x)); }
  return select(1.0 / sqrt(x), 0.0, isinf_(x));
}`,
  },
};

/** The functions of this file by name, each after those it needs. */
export const BASIC_HELPERS: Readonly<Record<string, WgslHelper>> = {
  ...TESTS,
  ...CONVERSIONS,
  ...INTEGERS,
  ...DIVISION,
  ...ROOTS,
};
