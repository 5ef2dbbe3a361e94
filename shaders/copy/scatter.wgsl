// Writes rows to their places, or adds them there atomically: an invocation for each element. Rows with an index out of range are left
// out. Which of several rows for one place stays, where they are written, is not said.

alias Element = u32; //#param Type of what moves.
alias Cell = u32; //#param Type of the result's elements: atomic where rows are added.
const ADDS = false; //#param Rows are added.
const FLOATS = false; //#param They are floats.
const BOOLS = false; //#param They are bools, of which one that holds is enough.
const RANK = 1u; //#param Numbers of an index vector.
const WORKGROUP = 256u; //#let 256
const k = 0u; //#index

@group(0) @binding(0) var<storage, read> in0: array<Element>;
@group(0) @binding(1) var<storage, read> in1: array<i32>;
@group(0) @binding(2) var<storage, read_write> out0: array<Cell>;
struct Params {
  n: u32,
  begin: u32,
  length: u32,
  outer: u32,
  count: u32,
  inner: u32,
  extent: u32,
  d_k: u32, //#for k in 0..RANK
}
@group(0) @binding(3) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let id = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (id >= p.n) { return; }
  let line = id / p.inner;
  let i = id - line * p.inner;
  let bo = line / p.count;
  let j = line - bo * p.count;
  let row = 0u; let ok = true; //#include copy/rows.wgsl find INDICES = in1; AT = (bo / p.outer) * p.count + j
  if (ok) {
    let v = in0[id];
    let to = (bo * p.extent + row) * p.inner + i - p.begin;
    if (to < p.length) {
      //#if !ADDS
      out0[to] = v;
      //#elif FLOATS
      // WGSL has no atomic floats: the sum is tried until no other invocation wrote in between.
      //: var old = atomicLoad(&out0[to]);
      //: loop {
      //:   let next = bitcast<u32>(bitcast<f32>(old) + v);
      //:   let tried = atomicCompareExchangeWeak(&out0[to], old, next);
      //:   if (tried.exchanged) { break; }
      //:   old = tried.old_value;
      //: }
      //#elif BOOLS
      //: atomicOr(&out0[to], v);
      //#else
      //: atomicAdd(&out0[to], v);
      //#end
    }
  }
}
