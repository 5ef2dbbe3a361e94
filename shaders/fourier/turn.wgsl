// Turns of complex numbers, for the kernels of Fourier transforms.

//#piece functions
// Sines and cosines up to an eighth of a turn, as in shaders/scalar.wgsl.
fn sine(r: f32) -> f32 {
  let z = r * r;
  return r + r * z * (-0.16666654 + z * (0.008332131 + z * -1.951084e-4));
}

fn cosine(r: f32) -> f32 {
  let z = r * r;
  return 1.0 - 0.5 * z + z * z * (0.041666646 + z * (-0.0013887306 + z * 2.4431205e-5));
}

// exp(-2 pi i j / n).
fn turn(j: u32, n: u32) -> vec2<f32> {
  let quarter = 4u * j / n;
  let rest = 4u * j - quarter * n;
  let near = 2u * rest > n;
  let angle = 1.57079633 * (f32(select(rest, n - rest, near)) / f32(n));
  let c = cosine(angle); let s = sine(angle);
  let u = select(vec2<f32>(c, s), vec2<f32>(s, c), near);
  let v = select(u, vec2<f32>(-u.y, u.x), (quarter & 1u) == 1u);
  return select(vec2<f32>(v.x, -v.y), vec2<f32>(-v.x, v.y), (quarter & 2u) == 2u);
}

fn times(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> { return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
//#end
