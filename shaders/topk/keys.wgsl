// Keys and indices of rows, padded to a power of two, for sorting them in buffers (shaders/topk/step.wgsl).

alias Element = f32; //#param Type of the elements.
const HALF = false; //#param Elements are f16.
const WORKGROUP = 64u; //#param Invocations of a workgroup.

fn load(x: f32) -> f32 { return x; } //#inline !HALF
//: fn load(x: f16) -> f32 { return f32(x); } //#inline

@group(0) @binding(0) var<storage, read> x: array<Element>;
@group(0) @binding(1) var<storage, read_write> keys: array<u32>;
@group(0) @binding(2) var<storage, read_write> indices: array<u32>;
struct Params {
  n: u32,
  columns: u32,
  length: u32,
}
@group(0) @binding(3) var<uniform> p: Params;

//#slot key A function that gives keys in the order of the elements.
fn key_(v: f32) -> u32 { return u32(v); }
//#end

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let t = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (t >= p.n) { return; }
  let c = t % p.length;
  var key = 0u;
  var at = 0xffffffffu;
  if (c < p.columns) {
    key = key_(load(x[(t / p.length) * p.columns + c]));
    at = c;
  }
  keys[t] = key;
  indices[t] = at;
}
