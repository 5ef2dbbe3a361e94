// Sums over windows along rows, and local response normalization by them (LRN).

alias Element = f32; //#param Type of the elements.
const LRN = false; //#param Elements are normalized by the sum of squares; else the sum is the result.
const HALF = false; //#param Elements are f16, which are computed with in f32.
const WORKGROUP = 64u; //#let 64

fn load(x: f32) -> f32 { return x; } //#inline !HALF
//: fn load(x: f16) -> f32 { return f32(x); } //#inline
fn store(x: f32) -> f32 { return x; } //#inline !HALF
//: fn store(x: f32) -> f16 { return f16(x); } //#inline

@group(0) @binding(0) var<storage, read> x: array<Element>;
@group(0) @binding(1) var<storage, read_write> result: array<Element>;
struct Params {
  n: u32,
  columns: u32,
  radius: u32,
  bias: f32, alpha: f32, beta: f32, //#if LRN
}
@group(0) @binding(2) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let t = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (t >= p.n) { return; }
  let c = t % p.columns;
  let row = t - c;
  let last = min(c + p.radius, p.columns - 1u);
  var s = 0.0;
  for (var k = c - min(c, p.radius); k <= last; k += 1u) {
    let v = load(x[row + k]);
    //: s += v * v; //#if LRN
    s += v; //#if !LRN
  }
  let v = load(x[t]);
  //: result[t] = store(v * pow(p.bias + p.alpha * s, -p.beta)); //#if LRN
  result[t] = store(s); //#if !LRN
}
