// The values of what stands first in sorted rows, by index.

alias Element = f32; //#param Type of the elements.
const WORKGROUP = 64u; //#param Invocations of a workgroup.

@group(0) @binding(0) var<storage, read> x: array<Element>;
@group(0) @binding(1) var<storage, read> sorted: array<u32>;
@group(0) @binding(2) var<storage, read_write> values: array<Element>;
@group(0) @binding(3) var<storage, read_write> indices: array<i32>;
struct Params {
  n: u32,
  columns: u32,
  length: u32,
  k: u32,
}
@group(0) @binding(4) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let t = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (t >= p.n) { return; }
  let row = t / p.k;
  let at = sorted[row * p.length + t % p.k];
  values[t] = x[row * p.columns + at];
  indices[t] = i32(at);
}
