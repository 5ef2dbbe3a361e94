// The sum or product of each chunk of a line, by a workgroup: what shaders/scan/tiles.wgsl starts its chunks with, once scanned.

alias From = f32; //#param Type of what is read.
alias Acc = f32; //#param Type of the running value.
const PRODUCT = false; //#param Products instead of sums.
const HALF = false; //#param The elements read are f16; they are computed in f32.
const WORKGROUP = 256u; //#let 256
const half = 128u; //#index

fn load(x: f32) -> f32 { return x; } //#inline !HALF
//: fn load(x: f16) -> f32 { return f32(x); } //#inline
//: fn fold(a: f32, b: f32) -> f32 { return a * b; } //#inline PRODUCT
fn fold(a: f32, b: f32) -> f32 { return a + b; } //#inline
//: fn identity() -> f32 { return Acc(1); } //#inline PRODUCT
fn identity() -> f32 { return Acc(0); } //#inline

@group(0) @binding(0) var<storage, read> x: array<From>;
@group(0) @binding(1) var<storage, read_write> total: array<Acc>;
struct Params {
  groups: u32,
  length: u32,
  chunks: u32,
  chunk: u32,
}
@group(0) @binding(2) var<uniform> p: Params;
var<workgroup> shared_: array<Acc, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let g = wid.x + wid.y * nwg.x;
  if (g >= p.groups) { return; }
  let base = (g / p.chunks) * p.length;
  let first = (g % p.chunks) * p.chunk;
  let last = min(first + p.chunk, p.length);
  var a = identity();
  for (var k = first + lidx; k < last; k += WORKGROUP) { a = fold(a, load(x[base + k])); }
  shared_[lidx] = a;
  workgroupBarrier();
  //#for half = WORKGROUP >> 1; half > 0; half >>= 1
  if (lidx < half) { shared_[lidx] = fold(shared_[lidx], shared_[lidx + half]); }
  workgroupBarrier();
  //#end
  if (lidx == 0u) { total[g] = shared_[0]; }
}
