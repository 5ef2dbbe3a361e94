// The greatest elements of rows in rounds: a workgroup sorts a piece of a row in its memory, by a bitonic network, and keeps the best.
// The first round makes keys of elements; the last, where a row is one piece, fetches the values of what is left by index.

alias Element = f32; //#param Type of the elements.
const HALF = false; //#param Elements are f16.
const FIRST = true; //#param Reads elements, not the keys and indices of the round before.
const LAST = true; //#param Writes values and indices, not keys and indices.
const WORKGROUP = 256u; //#let 256
const PIECE = 1024u; //#let 1024
const PAIRS = 512u; //#let 512

fn load(x: f32) -> f32 { return x; } //#inline !HALF
//: fn load(x: f16) -> f32 { return f32(x); } //#inline
// Of equal keys the one in front comes first.
fn comes_before(ka: u32, ia: u32, kb: u32, ib: u32) -> bool { return (ka > kb) | ((ka == kb) & (ia < ib)); } //#inline

@group(0) @binding(0) var<storage, read> in0: array<Element>; //#if FIRST
//#if !FIRST
//: @group(0) @binding(0) var<storage, read> in0: array<u32>;
//: @group(0) @binding(1) var<storage, read> in1: array<u32>;
//: @group(0) @binding(2) var<storage, read> in2: array<Element>; //#if LAST
//#end
@group(0) @binding(3) var<storage, read_write> out0: array<Element>; //#if LAST
@group(0) @binding(4) var<storage, read_write> out1: array<i32>; //#if LAST
//: @group(0) @binding(3) var<storage, read_write> out0: array<u32>; //#if !LAST
//: @group(0) @binding(4) var<storage, read_write> out1: array<u32>; //#if !LAST
struct Params {
  groups: u32,
  length: u32,
  pieces: u32,
  kept: u32,
  columns: u32,
}
@group(0) @binding(5) var<uniform> p: Params;

//#slot key A function that gives keys in the order of the elements.
fn key_(v: f32) -> u32 { return u32(v); }
//#end
var<workgroup> keys_: array<u32, PIECE>;
var<workgroup> at_: array<u32, PIECE>;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let g = wid.x + wid.y * nwg.x;
  if (g >= p.groups) { return; }
  let row = g / p.pieces;
  let start = (g % p.pieces) * PIECE;
  for (var e = lidx; e < PIECE; e += WORKGROUP) {
    let c = start + e;
    keys_[e] = 0u;
    at_[e] = 0xffffffffu;
    if (c < p.length) {
      keys_[e] = key_(load(in0[row * p.length + c])); at_[e] = c; //#if FIRST
      //: keys_[e] = in0[row * p.length + c]; at_[e] = in1[row * p.length + c]; //#if !FIRST
    }
  }
  workgroupBarrier();
  for (var size = 2u; size <= PIECE; size *= 2u) {
    for (var half = size / 2u; half > 0u; half /= 2u) {
      for (var e = lidx; e < PAIRS; e += WORKGROUP) {
        let a = (e / half) * 2u * half + e % half;
        let b = a + half;
        let falling = (a & size) == 0u;
        let ka = keys_[a];
        let kb = keys_[b];
        let ia = at_[a];
        let ib = at_[b];
        if (comes_before(kb, ib, ka, ia) == falling) {
          keys_[a] = kb;
          keys_[b] = ka;
          at_[a] = ib;
          at_[b] = ia;
        }
      }
      workgroupBarrier();
    }
  }
  for (var e = lidx; e < p.kept; e += WORKGROUP) {
    let to = g * p.kept + e;
    out0[to] = in0[row * p.columns + at_[e]]; out1[to] = i32(at_[e]); //#if LAST && FIRST
    //: out0[to] = in2[row * p.columns + at_[e]]; out1[to] = i32(at_[e]); //#if LAST && !FIRST
    //: out0[to] = keys_[e]; out1[to] = at_[e]; //#if !LAST
  }
}
