// The frame of row kernels (softmax, norms, cross entropy): each row is read a few times, reduced to a few numbers each time, and
// written. The passes are data of src/engine/kernels/rows/, which prints them; what stands here in their place is a softmax. Either an
// invocation takes a row (no barriers: software adapters, short rows), or a workgroup does (GROUPS), which keeps rows of moderate
// length in registers.

const WIDE = false; //#param Elements are seen by fours: V and U are then vectors.
const GROUPS = false; //#param A workgroup takes a row.
const SHARED = 0; //#param Values that a workgroup accumulates at once.
const WORKGROUP = 64u; //#param Invocations of a workgroup.
const k = 0u; //#index

@group(0) @binding(0) var<storage, read> in0: array<f32>; //#alone
@group(0) @binding(1) var<storage, read_write> out0: array<f32>; //#alone
struct Params {
  rows: u32,
  cols: u32,
  columns: f32,
}
@group(0) @binding(2) var<uniform> p: Params;

alias V = f32; //#if !WIDE
alias U = u32; //#if !WIDE
//: alias V = vec4<f32>; //#if WIDE
//: alias U = vec4<u32>; //#if WIDE
//#slot helpers Functions that the texts call.
//#end
//: var<workgroup> shared_k: array<f32, WORKGROUP>; //#for k in 0..SHARED

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  //: let row = wid.x + wid.y * nwg.x; //#if GROUPS
  let row = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx; //#if !GROUPS
  if (row >= p.rows) { return; }
  let base = row * p.cols;
  //#slot scalars Loads the inputs that have one value a row.
  //#end
  //#slot held Loads what a workgroup keeps of the row in registers.
  //#end
  //#slot passes Each pass over the row, and what it leaves.
  var m = -3.4e38;
  for (var c = 0u; c < p.cols; c += 1u) { m = max(m, in0[base + c]); } //#alone
  var s = 0.0;
  for (var c = 0u; c < p.cols; c += 1u) { s += exp(in0[base + c] - m); } //#alone
  let q = 1.0 / s;
  //#end
  //#slot write Writes the row.
  for (var c = 0u; c < p.cols; c += 1u) { out0[base + c] = exp(in0[base + c] - m) * q; } //#alone
  //#end
  //#slot results Writes what there is one of a row.
  //#end
}
