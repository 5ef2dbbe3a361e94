// Index of the greatest element along an axis, by keys in the order wanted: a workgroup for each (partial) row where ROWS, else an
// invocation for each (partial) result. Long axes are split; each part leaves its key and index (KEEP), which a second dispatch
// compares (SECOND).

alias In = f32; //#param Type of what is read: elements, or keys.
const ROWS = true; //#param A workgroup takes a row.
const KEEP = false; //#param Keys are written beside indices.
const SECOND = false; //#param Reads keys and indices.
const HALF = false; //#param Elements are f16.
const WORKGROUP = 256u; //#param Invocations of a workgroup.
const half = 128u; //#index

fn load(x: f32) -> f32 { return x; } //#inline !HALF
//: fn load(x: f16) -> f32 { return f32(x); } //#inline
fn key_of(k: u32) -> u32 { return key_(load(in0[k])); } //#inline !SECOND
//: fn key_of(k: u32) -> u32 { return in0[k]; } //#inline
fn index_of(k: u32, r: u32) -> i32 { return i32(r); } //#inline !SECOND
//: fn index_of(k: u32, r: u32) -> i32 { return in1[k]; } //#inline
// Parts are interleaved: of equal elements the one in front must be told by its index.
fn better(k: u32, a: i32, best: u32, bestAt: i32) -> bool { return (k > best) | ((k == best) & (a < bestAt)); } //#inline

@group(0) @binding(0) var<storage, read> in0: array<In>;
//: @group(0) @binding(1) var<storage, read> in1: array<i32>; //#if SECOND
//: @group(0) @binding(2) var<storage, read_write> out0: array<u32>; //#if KEEP
//: @group(0) @binding(3) var<storage, read_write> out1: array<i32>; //#if KEEP
@group(0) @binding(2) var<storage, read_write> out0: array<i32>; //#if !KEEP
struct Params {
  n: u32,
  inner: u32,
  length: u32,
  parts: u32,
}
@group(0) @binding(4) var<uniform> p: Params;

//#slot key A function that gives keys in the order of the elements.
fn key_(v: f32) -> u32 { return u32(v); }
//#end
var<workgroup> keys_: array<u32, WORKGROUP>; //#if ROWS
var<workgroup> at_: array<i32, WORKGROUP>; //#if ROWS

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  //#if ROWS
  let t = wid.x + wid.y * nwg.x;
  if (t >= p.n) { return; }
  let i = 0u;
  let part = t % p.parts;
  let o = t / p.parts;
  let first = part * WORKGROUP + lidx;
  let step = p.parts * WORKGROUP;
  //#else
  //: let t = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  //: if (t >= p.n) { return; }
  //: let i = t % p.inner;
  //: let q = t / p.inner;
  //: let part = q % p.parts;
  //: let o = q / p.parts;
  //: let first = part;
  //: let step = p.parts;
  //#end
  var best = 0u;
  var bestAt = 0x7fffffff;
  for (var r = first; r < p.length; r += step) {
    let k = (o * p.length + r) * p.inner + i;
    let v = key_of(k);
    let a = index_of(k, r);
    if (better(v, a, best, bestAt)) { best = v; bestAt = a; }
  }
  //#if ROWS
  keys_[lidx] = best;
  at_[lidx] = bestAt;
  workgroupBarrier();
  //#for half = WORKGROUP >> 1; half > 0; half >>= 1
  if (lidx < half) {
    let k2 = keys_[lidx + half];
    let a2 = at_[lidx + half];
    if (better(k2, a2, keys_[lidx], at_[lidx])) { keys_[lidx] = k2; at_[lidx] = a2; }
  }
  workgroupBarrier();
  //#end
  //: if (lidx == 0u) { out0[t] = keys_[0]; out1[t] = at_[0]; } //#if KEEP
  if (lidx == 0u) { out0[t] = at_[0]; } //#if !KEEP
  //#else
  //: out0[t] = best; out1[t] = bestAt; //#if KEEP
  //: out0[t] = bestAt; //#if !KEEP
  //#end
}
