// Sums rows into their places by search: each result looks through all rows and adds those that are its own. Exact in order, and
// right for few rows. Rows with an index out of range are left out.

alias Element = f32; //#param Type of what moves at once.
alias Sum = f32; //#param Type in which it is summed.
const START = false; //#param A third input holds what was there before; else zeros.
const RANK = 1u; //#param Numbers of an index vector.
const WORKGROUP = 256u; //#let 256
const k = 0u; //#index

@group(0) @binding(0) var<storage, read> in0: array<Element>;
@group(0) @binding(1) var<storage, read> in1: array<i32>;
//: @group(0) @binding(2) var<storage, read> in2: array<Element>; //#if START
@group(0) @binding(3) var<storage, read_write> out0: array<Element>;
struct Params {
  n: u32,
  begin: u32,
  outer: u32,
  count: u32,
  inner: u32,
  extent: u32,
  d_k: u32, //#for k in 0..RANK
}
@group(0) @binding(4) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let local = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (local >= p.n) { return; }
  let id = p.begin + local;
  let line = id / p.inner;
  let i = id - line * p.inner;
  let bo = line / p.extent;
  let mine = line - bo * p.extent;
  let first = (bo / p.outer) * p.count;
  //: var v = Sum(in2[local]); //#if START
  var v = Sum(); //#if !START
  for (var j = 0u; j < p.count; j++) {
    let row = 0u; let ok = true; //#include copy/rows.wgsl find INDICES = in1; AT = first + j
    if (ok && row == mine) { v += Sum(in0[(bo * p.count + j) * p.inner + i]); }
  }
  out0[local] = Element(v);
}
