// Functions behind the scalar primitives of src/engine/core/scalar/, by name: `exp_` computes `exp`. The elementary functions are right to
// a few units in the last place on every adapter, where the built-in sin, log, pow and atan2 may be far off; their polynomials
// are minimax fits of this project. Straight-line code, no arrays. Each function stands after those it calls.

// --- Tests and comparisons. NaN and infinity are tested by bits: compilers may assume that they do not exist.

fn isnan_(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

fn isinf_(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }

fn isfinite_(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u; }

fn isnegative_(x: f32) -> bool { return (bitcast<u32>(x) & 0x80000000u) != 0u; }

// Through a variable: constant NaN and infinity are errors.
fn nan_() -> f32 { var u = 0x7fc00000u; return bitcast<f32>(u); }

fn inf_() -> f32 { var u = 0x7f800000u; return bitcast<f32>(u); }

fn withsign_(r: f32, x: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(r) & 0x7fffffffu) | (bitcast<u32>(x) & 0x80000000u));
}

fn lt_(a: f32, b: f32) -> bool { return (a < b) & !isnan_(a) & !isnan_(b); }

fn le_(a: f32, b: f32) -> bool { return (a <= b) & !isnan_(a) & !isnan_(b); }

fn eq_(a: f32, b: f32) -> bool { return (a == b) & !isnan_(a) & !isnan_(b); }

fn min_(a: f32, b: f32) -> f32 { return select(select(min(a, b), b, isnan_(b)), a, isnan_(a)); }

fn max_(a: f32, b: f32) -> f32 { return select(select(max(a, b), b, isnan_(b)), a, isnan_(a)); }

fn sign_(x: f32) -> f32 { return select(sign(x), x, (x == 0.0) | isnan_(x)); }

// --- Conversions to integers, saturating; NaN becomes 0.

fn toint_(x: f32) -> i32 {
  let r = i32(clamp(x, -2147483648.0, 2147483520.0));
  return select(select(r, 2147483647, x >= 2147483648.0), 0, isnan_(x));
}

fn touint_(x: f32) -> u32 {
  let r = u32(clamp(x, 0.0, 4294967040.0));
  return select(select(r, 0xffffffffu, x >= 4294967296.0), 0u, isnan_(x));
}

// --- float16 in the low half of a word, by integers alone: adapters differ in what they make of what is too large or too small.

// The nearest float16, of two as near the even one. From 65520 on it is infinity.
fn halfbits_(x: f32) -> u32 {
  let a = bitcast<u32>(x) & 0x7fffffffu;
  let normal = (a - 0x38000000u + 0xfffu + ((a >> 13u) & 1u)) >> 13u;
  let shift = min(126u - min(a >> 23u, 125u), 31u);
  let m = (a & 0x7fffffu) | 0x800000u;
  let small = (m + (1u << (shift - 1u)) - 1u + ((m >> shift) & 1u)) >> shift;
  let finite = select(min(normal, 0x7c00u), small, a < 0x38800000u);
  let large = select(0x7c00u, 0x7e00u, a > 0x7f800000u);
  return ((bitcast<u32>(x) >> 16u) & 0x8000u) | select(finite, large, a >= 0x47800000u);
}

fn halfvalue_(h: u32) -> f32 {
  let e = h & 0x7c00u;
  let normal = bitcast<f32>(((h & 0x7fffu) << 13u) + select(0x38000000u, 0x70000000u, e == 0x7c00u));
  let x = select(normal, f32(h & 0x3ffu) * 0x1p-24, e == 0u);
  return bitcast<f32>(bitcast<u32>(x) | ((h & 0x8000u) << 16u));
}

fn tohalf_(x: f32) -> f32 { return halfvalue_(halfbits_(x)); }

// --- Integers: a division by zero gives 0.

fn ipow_(a: i32, b: i32) -> i32 {
  if (b < 0) { return select(select(0, select(-1, 1, (b & 1) == 0), a == -1), 1, a == 1); }
  var r = 1; var x = a; var n = b;
  while (n > 0) { if ((n & 1) == 1) { r = r * x; } x = x * x; n = n >> 1u; }
  return r;
}

fn upow_(a: u32, b: u32) -> u32 {
  var r = 1u; var x = a; var n = b;
  while (n > 0u) { if ((n & 1u) == 1u) { r = r * x; } x = x * x; n = n >> 1u; }
  return r;
}

fn idiv_(a: i32, b: i32) -> i32 { if (b == 0) { return 0; } return a / b; }

fn udiv_(a: u32, b: u32) -> u32 { if (b == 0u) { return 0u; } return a / b; }

fn umod_(a: u32, b: u32) -> u32 { if (b == 0u) { return 0u; } return a % b; }

fn itruncmod_(a: i32, b: i32) -> i32 { if (b == 0) { return 0; } return a - b * (a / b); }

fn ifloordiv_(a: i32, b: i32) -> i32 {
  if (b == 0) { return 0; }
  let q = a / b; let r = a - b * q;
  return select(q, q - 1, (r != 0) & ((r < 0) != (b < 0)));
}

fn ifloormod_(a: i32, b: i32) -> i32 {
  if (b == 0) { return 0; }
  let r = a - b * (a / b);
  return select(r, r + b, (r != 0) & ((r < 0) != (b < 0)));
}

// --- Quotients and remainders.

// The floor of the rounded quotient. Built-in quotients may be off by some units: near a whole number n the remainder, from
// products that need no rounding, says on which side the true quotient is, and whether it rounds to n.
fn floordiv_(a: f32, b: f32) -> f32 {
  let t = a / b;
  let n = round(t);
  if (!(abs(t - n) <= abs(t) * 4.8e-7) || n == 0.0 || abs(t) >= 8388608.0) { return floor(t); }
  let bh = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
  let nh = bitcast<f32>(bitcast<u32>(n) & 0xfffff000u);
  let bl = b - bh; let nl = n - nh;
  let r = (((a - nh * bh) - nh * bl) - nl * bh) - nl * bl;
  let unit = bitcast<f32>(bitcast<u32>(abs(n)) & 0x7f800000u);
  let half = unit * select(5.9604645e-8, 2.9802322e-8, n == unit);
  let below = (r != 0.0) & ((r < 0.0) != (b < 0.0)) & (abs(r) > abs(b) * half);
  return select(n, n - 1.0, below);
}

// Exact without a fused multiply-add: eight bits of the quotient go at a time, so that their products with either half of
// the divisor need no rounding.
fn truncmod_(a: f32, b: f32) -> f32 {
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
}

fn floormod_(a: f32, b: f32) -> f32 {
  let r = truncmod_(a, b);
  return select(r, r + b, (r != 0.0) & ((r < 0.0) != (b < 0.0)));
}

// --- Roots.

fn sqrt_(x: f32) -> f32 {
  if (x < 0.0 || isnan_(x)) { return nan_(); }
  return select(sqrt(x), x, x == 0.0);
}

fn rsqrt_(x: f32) -> f32 {
  if (x < 0.0 || isnan_(x)) { return nan_(); }
  if (x == 0.0) { return select(inf_(), -inf_(), isnegative_(x)); }
  return select(1.0 / sqrt(x), 0.0, isinf_(x));
}

// --- Exponentials, logarithms, powers.

// r * 2**n where that is a normal number. By a product, as software adapters shift lane by lane.
fn shift_(r: f32, n: i32) -> f32 { return bitcast<f32>(bitcast<i32>(r) + n * 8388608); }

// r * 2**n for r near 1 and n in [-252, 254].
fn scale_(r: f32, n: i32) -> f32 {
  let h = clamp(n, -125, 127);
  return shift_(r, h) * shift_(1.0, n - h);
}

// exp(x) / 2**k for the whole number k nearest to x / log 2.
fn expfraction_(x: f32, k: f32) -> f32 {
  let r = (x - k * 0.693359375) + k * 2.12194440e-4;
  return 1.0 + (r + r * r * (0.5 + r * (0.16666515 + r * (0.041666377 + r * (0.008369435 + r * 0.0013943034)))));
}

// The exponential of what is neither so large nor so small that it leaves the range of normal numbers.
fn expcore_(x: f32) -> f32 {
  let k = round(x * 1.44269504);
  return shift_(expfraction_(x, k), i32(k));
}

// Without a branch, like tanh_: where many invocations go together, each pays for both sides, and for the choice.
fn exp_(x: f32) -> f32 {
  let y = clamp(x, -104.0, 89.0);
  let k = round(y * 1.44269504);
  return select(scale_(expfraction_(y, k), i32(k)), x, isnan_(x));
}

fn expm1_(x: f32) -> f32 {
  if (abs(x) <= 0.5) {
    if (x == 0.0) { return x; }
    return x + x * x * (0.5 + x * (0.16666663 + x * (0.04166587 + x * (0.008333705 + x * (0.0013981225 + x * 1.9805942e-4)))));
  }
  return exp_(x) - 1.0;
}

// log(1 + f) for f in [sqrt(1/2) - 1, sqrt(2) - 1], plus k log 2.
fn logcore_(f: f32, k: f32) -> f32 {
  let s = f / (2.0 + f);
  let z = s * s;
  let r = z * (0.6666666 + z * (0.40000355 + z * (0.28535882 + z * 0.23610665)));
  let h = 0.5 * f * f;
  return k * 0.693359375 - ((h - (s * (h + r) - k * 2.12194440e-4)) - f);
}

fn log_(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  if ((bits & 0x7fffffffu) == 0u) { return -inf_(); }
  if (isnegative_(x) || isnan_(x)) { return nan_(); }
  if (bits == 0x7f800000u) { return x; }
  var u = bits; var k = 0.0;
  // A subnormal number, which floating-point units may flush, is its bits times 2**-149.
  if (bits < 0x00800000u) { u = bitcast<u32>(f32(bits)); k = -149.0; }
  let e = bitcast<i32>(u - 0x3f3504f3u) >> 23u;
  let m = bitcast<f32>(u - (bitcast<u32>(e) << 23u));
  return logcore_(m - 1.0, k + f32(e));
}

// A subnormal number, which floating-point units may flush, is its bits times 2**-149.
fn log1p_(x: f32) -> f32 {
  if (x > -0.29 && x < 0.41) { return select(logcore_(x, 0.0), x, x == 0.0); }
  return log_(1.0 + x);
}

// Whole exponents up to 64 by squaring; else 2**(y log2 x) with the whole part of y log2 x kept apart.
fn pow_(x: f32, y: f32) -> f32 {
  if (y == 0.0 || x == 1.0) { return 1.0; }
  if (isnan_(x) || isnan_(y)) { return nan_(); }
  let a = abs(x);
  let whole = floor(y) == y;
  let odd = whole & (abs(y) < 16777216.0) & ((y - 2.0 * floor(y * 0.5)) == 1.0);
  let flip = isnegative_(x) & odd;
  if (isinf_(y)) { return select(select(0.0, inf_(), (a > 1.0) == (y > 0.0)), 1.0, a == 1.0); }
  if (isinf_(x) || x == 0.0) {
    let m = select(0.0, inf_(), (x == 0.0) == (y < 0.0));
    return select(m, -m, flip);
  }
  if (x < 0.0 && !whole) { return nan_(); }
  if (whole && abs(y) <= 64.0) {
    var r = 1.0; var b = a; var n = u32(abs(y));
    while (n > 0u) { if ((n & 1u) == 1u) { r = r * b; } n = n >> 1u; if (n > 0u) { b = b * b; } }
    // Where the power leaves the range of normal numbers its reciprocal is of no use.
    if (y > 0.0 || (r > 1e-37 && r < 1e37)) {
      r = select(r, 1.0 / r, y < 0.0);
      return select(r, -r, flip);
    }
  }
  let e = bitcast<i32>(bitcast<u32>(a) - 0x3f3504f3u) >> 23u;
  let m = bitcast<f32>(bitcast<u32>(a) - (bitcast<u32>(e) << 23u));
  let k = f32(e);
  let hi = bitcast<f32>(bitcast<u32>(y) & 0xfffff000u);
  let top = hi * k;
  if (abs(top) > 400.0) {
    let big = select(0.0, inf_(), top > 0.0);
    return select(big, -big, flip);
  }
  let t = y * log_(m);
  let n = round(top);
  let f = (top - n) + (y - hi) * k;
  let rest = f * 0.69314718 + t;
  if (abs(rest) > 90.0 || abs(rest + n * 0.69314718) > 104.0) {
    let r = exp_(rest + n * 0.69314718);
    return select(r, -r, flip);
  }
  let j = round(rest * 1.44269504);
  let r = scale_(exp_((rest - j * 0.693359375) + j * 2.12194440e-4), i32(n + j));
  return select(r, -r, flip);
}

fn erf_(x: f32) -> f32 {
  if (isnan_(x)) { return x; }
  let a = abs(x);
  if (a < 1.0) {
    let z = x * x;
    return x * (1.1283791 + z * (-0.37612626 + z * (0.112835854 + z * (-0.026853813 + z * (0.0051883277 + z * (-8.0101937e-4 + z * 7.853861e-5))))));
  }
  if (a > 3.94) { return withsign_(1.0, x); }
  let e = -3.5371882e-4 + a * (-1.12704 + a * (-0.6382257 + a * (-0.10303737 + a * (0.02180532 + a * (-0.002939608 + a * 1.8557407e-4)))));
  return withsign_(1.0 - exp_(e), x);
}

// --- Hyperbolic functions.

fn sinh_(x: f32) -> f32 {
  if (isnan_(x)) { return x; }
  let a = abs(x);
  if (a < 1.0) {
    let z = x * x;
    return x + x * z * (0.16666667 + z * (0.0083333505 + z * (1.9836066e-4 + z * 2.8174395e-6)));
  }
  if (a > 88.0) { let h = exp_(0.5 * a); return withsign_((0.5 * h) * h, x); }
  let e = exp_(a);
  return withsign_(0.5 * (e - 1.0 / e), x);
}

fn cosh_(x: f32) -> f32 {
  if (isnan_(x)) { return x; }
  let a = abs(x);
  if (a > 88.0) { let h = exp_(0.5 * a); return (0.5 * h) * h; }
  let e = exp_(a);
  return 0.5 * (e + 1.0 / e);
}

fn tanh_(x: f32) -> f32 {
  let a = abs(x);
  let z = a * a;
  let small = a + a * z * (-0.33333278 + z * (0.13331328 + z * (-0.05372923 + z * (0.020602008 + z * -0.0056607886))));
  let large = 1.0 - 2.0 / (expcore_(2.0 * min(a, 9.1)) + 1.0);
  return select(withsign_(select(large, small, a < 0.625), x), x, isnan_(x));
}

fn asinh_(x: f32) -> f32 {
  if (isnan_(x)) { return x; }
  let a = abs(x);
  if (a > 1e9) { return withsign_(log_(a) + 0.69314718, x); }
  return withsign_(log1p_(a + a * a / (1.0 + sqrt(a * a + 1.0))), x);
}

fn acosh_(x: f32) -> f32 {
  if (x < 1.0 || isnan_(x)) { return nan_(); }
  if (x > 1e9) { return log_(x) + 0.69314718; }
  let t = x - 1.0;
  return log1p_(t + sqrt(2.0 * t + t * t));
}

fn atanh_(x: f32) -> f32 {
  let a = abs(x);
  if (a > 1.0 || isnan_(x)) { return nan_(); }
  if (a == 1.0) { return withsign_(inf_(), x); }
  return withsign_(0.5 * log1p_(2.0 * a / (1.0 - a)), x);
}

// --- Circular functions.

fn mulhi_(a: u32, b: u32) -> u32 {
  let al = a & 0xffffu; let ah = a >> 16u; let bl = b & 0xffffu; let bh = b >> 16u;
  let mid = ah * bl + ((al * bl) >> 16u);
  return ah * bh + (mid >> 16u) + (((mid & 0xffffu) + al * bh) >> 16u);
}

// Word i of the binary digits of 2/pi.
fn twooverpi_(i: u32) -> u32 {
  let low = select(select(select(0u, 0xa2f9836eu, i == 1u), 0x4e441529u, i == 2u), 0xfc2757d1u, i == 3u);
  return select(select(select(low, 0xf534ddc0u, i == 4u), 0xdb629599u, i == 5u), 0x3c439041u, i > 5u);
}

// x minus the nearest multiple of pi/2, and that multiple modulo 4. Payne and Hanek's way where x is large.
fn quarter_(x: f32) -> vec2<f32> {
  let a = abs(x);
  var k: f32; var r: f32;
  if (a < 2000.0) {
    k = round(a * 0.63661977);
    r = ((a - k * 1.5703125) - k * 4.8375129699707031e-4) - k * 7.5497900e-8;
    k = k - 4.0 * floor(k * 0.25);
  } else {
    let bits = bitcast<u32>(a);
    let e = (bits >> 23u) - 127u;
    let m = (bits & 0x007fffffu) | 0x00800000u;
    let w = e >> 5u; let s = e & 31u;
    let t = (32u - s) & 31u;
    let keep = select(0xffffffffu, 0u, s == 0u);
    let w0 = twooverpi_(w); let w1 = twooverpi_(w + 1u); let w2 = twooverpi_(w + 2u); let w3 = twooverpi_(w + 3u);
    let d0 = (w0 << s) | ((w1 >> t) & keep);
    let d1 = (w1 << s) | ((w2 >> t) & keep);
    let d2 = (w2 << s) | ((w3 >> t) & keep);
    let low = mulhi_(m, d2);
    let mid = m * d1;
    let sum = mid + low;
    var hi = m * d0 + mulhi_(m, d1) + select(0u, 1u, sum < mid);
    let q = (hi + 0x00400000u) >> 23u;
    // What is left of the turn, as a signed fraction of 2**55.
    let whole = bitcast<i32>(hi - (q << 23u));
    let fraction = f32(whole) * 1.1920929e-7 + f32(sum >> 8u) * 7.1054274e-15;
    k = f32(q & 3u);
    r = fraction * 1.57079633;
  }
  let flip = (bitcast<u32>(x) & 0x80000000u) != 0u;
  return vec2<f32>(select(r, -r, flip), select(k, select(4.0 - k, 0.0, k == 0.0), flip));
}

fn sincore_(r: f32) -> f32 {
  let z = r * r;
  return r + r * z * (-0.16666654 + z * (0.008332131 + z * -1.951084e-4));
}

fn coscore_(r: f32) -> f32 {
  let z = r * r;
  return 1.0 - 0.5 * z + z * z * (0.041666646 + z * (-0.0013887306 + z * 2.4431205e-5));
}

fn sin_(x: f32) -> f32 {
  if (!isfinite_(x)) { return nan_(); }
  if (x == 0.0) { return x; }
  let q = quarter_(x);
  let k = u32(q.y);
  let r = select(sincore_(q.x), coscore_(q.x), (k & 1u) == 1u);
  return select(r, -r, (k & 2u) == 2u);
}

fn cos_(x: f32) -> f32 {
  if (!isfinite_(x)) { return nan_(); }
  let q = quarter_(x);
  let k = u32(q.y) + 1u;
  let r = select(sincore_(q.x), coscore_(q.x), (k & 1u) == 1u);
  return select(r, -r, (k & 2u) == 2u);
}

fn tan_(x: f32) -> f32 {
  if (!isfinite_(x)) { return nan_(); }
  if (x == 0.0) { return x; }
  let q = quarter_(x);
  let s = sincore_(q.x); let c = coscore_(q.x);
  return select(s / c, -c / s, (u32(q.y) & 1u) == 1u);
}

// Angle whose tangent is a, for a >= 0.
fn atancore_(a: f32) -> f32 {
  let turn = a > 2.4142135;
  let half = !turn & (a > 0.41421357);
  let t = select(select(a, (a - 1.0) / (a + 1.0), half), -1.0 / a, turn);
  let z = t * t;
  let r = t + t * z * (-0.33333313 + z * (0.19998378 + z * (-0.14241607 + z * (0.10578599 + z * -0.060374953))));
  return r + select(select(0.0, 0.78539816, half), 1.57079633, turn);
}

fn atan_(x: f32) -> f32 {
  if (isnan_(x)) { return x; }
  if (isinf_(x)) { return withsign_(1.57079633, x); }
  return withsign_(atancore_(abs(x)), x);
}

fn atan2_(y: f32, x: f32) -> f32 {
  if (isnan_(x) || isnan_(y)) { return nan_(); }
  let a = abs(y); let b = abs(x);
  var r: f32;
  if (isinf_(y)) {
    r = select(1.57079633, 0.78539816, isinf_(x));
  } else if (a == 0.0 || isinf_(x)) {
    r = 0.0;
  } else if (a > b) {
    r = 1.57079633 - atancore_(b / a);
  } else {
    r = atancore_(a / b);
  }
  if (isnegative_(x)) { r = 3.14159265 - r; }
  return withsign_(r, y);
}

fn asincore_(a: f32) -> f32 {
  let z = a * a;
  return a + a * z * (0.1666666 + z * (0.07500542 + z * (0.04450936 + z * (0.0318737 + z * (0.014180113 + z * 0.03789116)))));
}

fn asin_(x: f32) -> f32 {
  let a = abs(x);
  if (a > 1.0 || isnan_(x)) { return nan_(); }
  if (a <= 0.5) { return select(asincore_(x), x, x == 0.0); }
  return withsign_(1.57079633 - 2.0 * asincore_(sqrt(0.5 * (1.0 - a))), x);
}

fn acos_(x: f32) -> f32 {
  let a = abs(x);
  if (a > 1.0 || isnan_(x)) { return nan_(); }
  if (a <= 0.5) { return 1.57079633 - asincore_(x); }
  let r = 2.0 * asincore_(sqrt(0.5 * (1.0 - a)));
  return select(r, 3.14159265 - r, x < 0.0);
}

// --- Complex numbers: vectors of their real and imaginary parts. Branch cuts as in C; the inverse functions neither overflow nor cancel.

fn hypot_(a: f32, b: f32) -> f32 {
  if (isinf_(a) || isinf_(b)) { return inf_(); }
  let x = abs(a); let y = abs(b);
  let large = max(x, y); let small = min(x, y);
  if (large == 0.0) { return x + y; }
  let r = small / large;
  return select(large * sqrt(1.0 + r * r), nan_(), isnan_(a) | isnan_(b));
}

fn ceq_(a: vec2<f32>, b: vec2<f32>) -> bool { return eq_(a.x, b.x) & eq_(a.y, b.y); }

fn cmul_(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> { return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

// A quarter of both where a sum of two could be too large.
fn cdiv_(dividend: vec2<f32>, divisor: vec2<f32>) -> vec2<f32> {
  let most = max(max(abs(dividend.x), abs(dividend.y)), max(abs(divisor.x), abs(divisor.y)));
  let by = select(1.0, 0.25, most > 1e37);
  let a = by * dividend; let b = by * divisor;
  if (b.x == 0.0 && b.y == 0.0) { return vec2<f32>(a.x / b.x, a.y / b.x); }
  if (abs(b.x) >= abs(b.y)) {
    let r = b.y / b.x; let n = b.x + b.y * r;
    return vec2<f32>((a.x + a.y * r) / n, (a.y - a.x * r) / n);
  }
  let r = b.x / b.y; let n = b.x * r + b.y;
  return vec2<f32>((a.x * r + a.y) / n, (a.y * r - a.x) / n);
}

// e**x times a number, where e**x alone may be too large.
fn exptimes_(x: f32, by: vec2<f32>) -> vec2<f32> {
  if (x > 88.0) { let h = exp_(0.5 * x); return (by * h) * h; }
  return by * exp_(x);
}

fn cexp_(z: vec2<f32>) -> vec2<f32> {
  if (z.y == 0.0) { return vec2<f32>(exp_(z.x), z.y); }
  if (exp_(z.x) == 0.0) { return vec2<f32>(0.0, 0.0); }
  return exptimes_(z.x, vec2<f32>(cos_(z.y), sin_(z.y)));
}

fn cexpm1_(z: vec2<f32>) -> vec2<f32> {
  let h = sin_(0.5 * z.y);
  return vec2<f32>(expm1_(z.x) * cos_(z.y) - 2.0 * h * h, exp_(z.x) * sin_(z.y));
}

// 0.25 where the magnitude of a number, or its sum with a part, could be too large.
fn lessen_(z: vec2<f32>) -> f32 { return select(1.0, 0.25, max(abs(z.x), abs(z.y)) > 1e37); }

// Near 1 the logarithm of the magnitude is that of the square's distance to 1.
fn clog_(z: vec2<f32>) -> vec2<f32> {
  let large = max(abs(z.x), abs(z.y)); let small = min(abs(z.x), abs(z.y)); let by = lessen_(z);
  var r: f32;
  if (large > 0.7 && large < 1.4 && small < 1.4 && !isnan_(z.x) && !isnan_(z.y)) {
    r = 0.5 * log1p_((large - 1.0) * (large + 1.0) + small * small);
  } else {
    r = log_(hypot_(by * z.x, by * z.y)) + select(0.0, 1.38629436, by < 1.0);
  }
  return vec2<f32>(r, atan2_(z.y, z.x));
}

fn clog1p_(z: vec2<f32>) -> vec2<f32> {
  if (abs(z.x) > 0.5 || abs(z.y) > 0.5) { return clog_(vec2<f32>(1.0 + z.x, z.y)); }
  return vec2<f32>(0.5 * log1p_(z.x * (2.0 + z.x) + z.y * z.y), atan2_(z.y, 1.0 + z.x));
}

fn csqrt_(z: vec2<f32>) -> vec2<f32> {
  if (isinf_(z.y)) { return vec2<f32>(inf_(), z.y); }
  let by = lessen_(z); let w = by * z;
  let s = select(1.0, 2.0, by < 1.0) * sqrt_(0.5 * hypot_(w.x, w.y) + 0.5 * abs(w.x));
  if (s == 0.0) { return vec2<f32>(0.0, z.y); }
  if (z.x >= 0.0) { return vec2<f32>(s, 0.5 * z.y / s); }
  return vec2<f32>(0.5 * abs(z.y) / s, withsign_(s, z.y));
}

fn crsqrt_(z: vec2<f32>) -> vec2<f32> { return cdiv_(vec2<f32>(1.0, 0.0), csqrt_(z)); }

fn csign_(z: vec2<f32>) -> vec2<f32> {
  let w = lessen_(z) * z; let m = hypot_(w.x, w.y);
  if (m == 0.0) { return vec2<f32>(0.0, 0.0); }
  return vec2<f32>(w.x / m, w.y / m);
}

fn cpow_(z: vec2<f32>, w: vec2<f32>) -> vec2<f32> {
  if (z.x == 0.0 && z.y == 0.0) {
    if (w.x > 0.0) { return vec2<f32>(0.0, 0.0); }
    if (w.x < 0.0) { return vec2<f32>(inf_(), nan_()); }
    if (w.x == 0.0 && w.y == 0.0) { return vec2<f32>(1.0, 0.0); }
    return vec2<f32>(nan_(), nan_());
  }
  return cexp_(cmul_(clog_(z), w));
}

// On the real axis results are real, where they overflow as well.
fn csinh_(z: vec2<f32>) -> vec2<f32> {
  let im = cosh_(z.x) * sin_(z.y);
  return vec2<f32>(sinh_(z.x) * cos_(z.y), select(im, z.y, z.y == 0.0));
}

fn ccosh_(z: vec2<f32>) -> vec2<f32> {
  let im = sinh_(z.x) * sin_(z.y);
  return vec2<f32>(cosh_(z.x) * cos_(z.y), select(im, z.y * sign_(z.x), z.y == 0.0));
}

fn ctanh_(z: vec2<f32>) -> vec2<f32> {
  if (abs(z.x) > 9.0) { return vec2<f32>(sign_(z.x), 4.0 * sin_(z.y) * cos_(z.y) * exp_(-2.0 * abs(z.x))); }
  let t = tan_(z.y); let s = sinh_(z.x); let b = 1.0 + t * t;
  let n = 1.0 + b * s * s;
  return vec2<f32>(b * sqrt(1.0 + s * s) * s / n, t / n);
}

fn casin_(z: vec2<f32>) -> vec2<f32> {
  let p = csqrt_(vec2<f32>(1.0 - z.x, -z.y)); let r = csqrt_(vec2<f32>(1.0 + z.x, z.y));
  return vec2<f32>(atan2_(z.x, p.x * r.x - p.y * r.y), asinh_(p.x * r.y - p.y * r.x));
}

fn cacos_(z: vec2<f32>) -> vec2<f32> {
  let p = csqrt_(vec2<f32>(1.0 - z.x, -z.y)); let r = csqrt_(vec2<f32>(1.0 + z.x, z.y));
  return vec2<f32>(2.0 * atan2_(p.x, r.x), asinh_(r.x * p.y - r.y * p.x));
}

fn casinh_(z: vec2<f32>) -> vec2<f32> { let r = casin_(vec2<f32>(z.y, -z.x)); return vec2<f32>(-r.y, r.x); }

fn cacosh_(z: vec2<f32>) -> vec2<f32> {
  let p = csqrt_(vec2<f32>(z.x - 1.0, z.y)); let r = csqrt_(vec2<f32>(z.x + 1.0, z.y));
  return vec2<f32>(asinh_(p.x * r.x + p.y * r.y), 2.0 * atan2_(p.y, r.x));
}

fn catanh_(z: vec2<f32>) -> vec2<f32> { return 0.5 * (clog1p_(z) - clog1p_(-z)); }

// f(iz) = i g(z) relates the circular to the hyperbolic functions.
fn csin_(z: vec2<f32>) -> vec2<f32> { let r = csinh_(vec2<f32>(-z.y, z.x)); return vec2<f32>(r.y, -r.x); }

fn ccos_(z: vec2<f32>) -> vec2<f32> { return ccosh_(vec2<f32>(-z.y, z.x)); }

fn ctan_(z: vec2<f32>) -> vec2<f32> { let r = ctanh_(vec2<f32>(-z.y, z.x)); return vec2<f32>(r.y, -r.x); }

fn catan_(z: vec2<f32>) -> vec2<f32> { let r = catanh_(vec2<f32>(-z.y, z.x)); return vec2<f32>(r.y, -r.x); }
