// Half spectra of real lines, from the spectra of their pairs: numbers at even places were real parts, those at odd places imaginary
// ones. An invocation makes two numbers, as far from one end as from the other.

const WORKGROUP = 64u; //#let 64

@group(0) @binding(0) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec2<f32>>;
struct Params {
  n: u32,
  // Pairs of a line, and invocations for it.
  pairs: u32,
  each: u32,
  made: u32,
  // Factors of inner numbers, and of those at the ends.
  inner_by: f32,
  by: f32,
}
@group(0) @binding(2) var<uniform> p: Params;

//#include fourier/turn.wgsl functions
fn turn(j: u32, n: u32) -> vec2<f32> { return vec2<f32>(f32(j), f32(n)); } //#alone
fn times(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> { return a * b; } //#alone

fn store_at(line: u32, i: u32, v: vec2<f32>) {
  let single = (i == 0u) | (i == p.pairs);
  if (i < p.made) { y[line * p.made + i] = select(p.inner_by * v, vec2<f32>(p.by * v.x, 0.0), single); }
}

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let t = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (t >= p.n) { return; }
  let k = t % p.each;
  let line = t / p.each;
  let first = line * p.pairs;
  let a = x[first + k];
  let c = x[first + (p.pairs - k) % p.pairs];
  let b = vec2<f32>(c.x, -c.y);
  let even = 0.5 * (a + b);
  let odd = times(0.5 * (a - b), turn(k, 2u * p.pairs));
  store_at(line, k, vec2<f32>(even.x + odd.y, even.y - odd.x));
  store_at(line, p.pairs - k, vec2<f32>(even.x - odd.y, -even.y - odd.x));
}
