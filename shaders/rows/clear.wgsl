// Zeros.

alias Element = f32; //#param Type of the elements.
const WORKGROUP = 64u; //#let 64

@group(0) @binding(0) var<storage, read_write> rows: array<Element>;
struct Params {
  n: u32,
}
@group(0) @binding(1) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let t = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (t >= p.n) { return; }
  rows[t] = Element(0);
}
