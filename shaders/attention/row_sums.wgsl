// What each row of attention's gradient needs of its whole row: the greatest score, the inverse of the sum of exponentials, and the
// product of the result with its gradient. An invocation takes a query.

const VECTORS = 16u; //#param Vectors of four that make up the depth.
const WORKGROUP = 64u; //#param Invocations of a workgroup.

@group(0) @binding(0) var<storage, read> gradient: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> result: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> sums: array<f32>;
@group(0) @binding(3) var<storage, read_write> rows: array<vec4<f32>>;
struct Params {
  n: u32, d1: u32, d2: u32, queries: u32,
  g: u32, g0: u32, g1: u32, g2: u32, gr: u32,
  o: u32, o0: u32, o1: u32, o2: u32, or: u32,
}
@group(0) @binding(4) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let i = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (i >= p.n) { return; }
  let t = i % p.queries;
  let z = i / p.queries;
  let c = z % p.d2;
  let b = z / p.d2 % p.d1;
  let a = z / p.d2 / p.d1;
  let g0 = p.g + a * p.g0 + b * p.g1 + c * p.g2 + t * p.gr;
  let o0 = p.o + a * p.o0 + b * p.o1 + c * p.o2 + t * p.or;
  var delta = 0.0;
  for (var j = 0u; j < VECTORS; j += 1u) { delta += dot(gradient[g0 + j], result[o0 + j]); }
  rows[i] = vec4<f32>(sums[i], sums[i + p.n], delta, 0.0);
}
