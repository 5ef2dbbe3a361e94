// Rows by index; an index out of range gives zeros. Inputs are the indices, then the table, in as many bindings as it takes.

alias Element = f32; //#param Type of what moves at once.
const RANK = 1u; //#param Numbers of an index vector.
const PIECED = false; //#param The table takes several bindings and is read by `read_`.
const WORKGROUP = 256u; //#let 256
const k = 0u; //#index

fn load_at(at: u32) -> f32 { return in1[at]; } //#inline !PIECED
//: fn load_at(at: u32) -> f32 { return read1(at); } //#inline

@group(0) @binding(0) var<storage, read> in0: array<i32>;
@group(0) @binding(1) var<storage, read> in1: array<Element>; //#if !PIECED
@group(0) @binding(2) var<storage, read_write> out0: array<Element>;
struct Params {
  n: u32,
  first: u32,
  outer: u32,
  count: u32,
  inner: u32,
  extent: u32,
  d_k: u32, //#for k in 0..RANK
}
@group(0) @binding(3) var<uniform> p: Params;

//#slot table Declares `read1`, which reads a table of several bindings as one.
//#end

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let local = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (local >= p.n) { return; }
  let id = p.first + local;
  let line = id / p.inner;
  let i = id - line * p.inner;
  let bo = line / p.count;
  let j = line - bo * p.count;
  let row = 0u; let ok = true; //#include copy/rows.wgsl find INDICES = in0; AT = (bo / p.outer) * p.count + j
  var v = Element();
  if (ok) { v = load_at((bo * p.extent + row) * p.inner + i); }
  out0[local] = v;
}
