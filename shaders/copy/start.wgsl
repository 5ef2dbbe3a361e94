// Initial contents of a scatter's result: another input, or zeros.

alias Element = vec4<u32>; //#param Type of what moves at once.
const START = true; //#param An input holds it; else zeros.
const WORKGROUP = 256u; //#let 256

@group(0) @binding(0) var<storage, read> in0: array<Element>; //#if START
@group(0) @binding(1) var<storage, read_write> out0: array<Element>;
struct Params {
  n: u32,
}
@group(0) @binding(2) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let i = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (i >= p.n) { return; }
  out0[i] = in0[i]; //#if START
  //: out0[i] = Element(); //#if !START
}
