// Elements of rows by index.

alias Element = f32; //#param Type of the elements.
const WORKGROUP = 64u; //#let 64

@group(0) @binding(0) var<storage, read> x: array<Element>;
@group(0) @binding(1) var<storage, read> indices: array<i32>;
@group(0) @binding(2) var<storage, read_write> picked: array<Element>;
struct Params {
  n: u32,
  columns: u32,
  k: u32,
}
@group(0) @binding(3) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let t = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (t >= p.n) { return; }
  picked[t] = x[(t / p.k) * p.columns + u32(indices[t])];
}
