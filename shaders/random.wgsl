// Random numbers from counters: the bits of src/engine/kernels/pointwise/threefry.ts, and the distributions of src/engine/kernels/host/random.ts.

// Threefry2x32 with 20 rounds: two random words as a pure function of a key and a counter.
// After Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
fn threefry(k: vec2<u32>, c: vec2<u32>) -> vec2<u32> {
  let k2 = 0x1bd11bdau ^ k.x ^ k.y;
  var x = c.x + k.x;
  var y = c.y + k.y;
  x += y; y = ((y << 13u) | (y >> 19u)) ^ x;
  x += y; y = ((y << 15u) | (y >> 17u)) ^ x;
  x += y; y = ((y << 26u) | (y >> 6u)) ^ x;
  x += y; y = ((y << 6u) | (y >> 26u)) ^ x;
  x += k.y; y += k2 + 1u;
  x += y; y = ((y << 17u) | (y >> 15u)) ^ x;
  x += y; y = ((y << 29u) | (y >> 3u)) ^ x;
  x += y; y = ((y << 16u) | (y >> 16u)) ^ x;
  x += y; y = ((y << 24u) | (y >> 8u)) ^ x;
  x += k2; y += k.x + 2u;
  x += y; y = ((y << 13u) | (y >> 19u)) ^ x;
  x += y; y = ((y << 15u) | (y >> 17u)) ^ x;
  x += y; y = ((y << 26u) | (y >> 6u)) ^ x;
  x += y; y = ((y << 6u) | (y >> 26u)) ^ x;
  x += k.x; y += k.y + 3u;
  x += y; y = ((y << 17u) | (y >> 15u)) ^ x;
  x += y; y = ((y << 29u) | (y >> 3u)) ^ x;
  x += y; y = ((y << 16u) | (y >> 16u)) ^ x;
  x += y; y = ((y << 24u) | (y >> 8u)) ^ x;
  x += k.y; y += k2 + 4u;
  x += y; y = ((y << 13u) | (y >> 19u)) ^ x;
  x += y; y = ((y << 15u) | (y >> 17u)) ^ x;
  x += y; y = ((y << 26u) | (y >> 6u)) ^ x;
  x += y; y = ((y << 6u) | (y >> 26u)) ^ x;
  x += k2; y += k.x + 5u;
  return vec2<u32>(x, y);
}

// Two normal numbers of two words, after Box and Muller. Angles are reduced on the integer side, so that sine and cosine need no
// range reduction and err by rounding only.
fn normalpair(w: vec2<u32>) -> vec2<f32> {
  let e = (f32(0xffffffffu - w.x) + 0.5) * 0x1p-32;
  let near = e * fma(e, fma(e, fma(e, fma(e, fma(e, 0.16666667, 0.2), 0.25), 0.33333334), 0.5), 1.0);
  let far = -log((f32(w.x) + 0.5) * 0x1p-32);
  let radius = sqrt(2.0 * select(far, near, w.x >= 0xf0000000u));
  let q = (w.y + 0x20000000u) >> 30u;
  let t = f32(i32(w.y - (q << 30u))) * 1.4629180792671596e-9;
  let u = t * t;
  let s = t * fma(u, fma(u, fma(u, fma(u, 2.7557319e-6, -1.984127e-4), 8.3333333e-3), -0.16666667), 1.0);
  let c = fma(u, fma(u, fma(u, fma(u, fma(u, -2.7557319e-7, 2.4801587e-5), -1.3888889e-3), 4.1666668e-2), -0.5), 1.0);
  let odd = (q & 1u) == 1u;
  let x = select(c, s, odd);
  let y = select(s, c, odd);
  return radius * vec2<f32>(select(x, -x, (q == 1u) | (q == 2u)), select(y, -y, q >= 2u));
}

// A normal number within two standard deviations: the inverse error function of Giles, over the mass that lies there.
fn truncated(word: u32) -> f32 {
  let x = (f32(i32(word ^ 0x80000000u)) + 0.5) * 0x1p-31 * 0.9544997361036416;
  let w = -log((1.0 - x) * (1.0 + x)) - 2.5;
  let low = fma(fma(fma(fma(2.81022636e-8, w, 3.43273939e-7), w, -3.5233877e-6), w, -4.39150654e-6), w, 2.1858087e-4);
  let p = fma(fma(fma(fma(low, w, -1.25372503e-3), w, -4.17768164e-3), w, 0.246640727), w, 1.50140941);
  return 1.4142135 * x * p;
}

fn truncatedpair(w: vec2<u32>) -> vec2<f32> { return vec2<f32>(truncated(w.x), truncated(w.y)); }
