// Bands of matrices: what lies more than so many places below or above the diagonal becomes zero.

alias Element = f32; //#param Type of the elements.
const WORKGROUP = 64u; //#let 64

@group(0) @binding(0) var<storage, read> x: array<Element>;
@group(0) @binding(1) var<storage, read_write> y: array<Element>;
struct Params {
  total: u32,
  rows: u32,
  columns: u32,
  lower: u32,
  upper: u32,
}
@group(0) @binding(2) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let i = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (i >= p.total) { return; }
  let c = i % p.columns; let r = i / p.columns % p.rows;
  y[i] = select(Element(0), x[i], (r <= c + p.lower) & (c <= r + p.upper));
}
