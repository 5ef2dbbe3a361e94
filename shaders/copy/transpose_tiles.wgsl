// Transposes through tiles of 32 x 32 in workgroup memory, so that both reading and writing run along memory. One column more than the
// tile has keeps neighbouring rows in different banks.

alias Element = u32; //#param Type of the elements.
const k = 0u; //#index

@group(0) @binding(0) var<storage, read> x: array<Element>;
@group(0) @binding(1) var<storage, read_write> y: array<Element>;
struct Params {
  groups: u32,
  down: u32,
  across: u32,
  rows: u32,
  columns: u32,
  base: u32,
  batch_stride: u32,
  stride: u32,
}
@group(0) @binding(2) var<uniform> p: Params;
var<workgroup> tile: array<Element, 1056>;

@compute @workgroup_size(32, 8)
fn main(
  @builtin(local_invocation_id) lid: vec3<u32>,
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
) {
  let g = wid.x + wid.y * nwg.x;
  if (g >= p.groups) { return; }
  let per = p.down * p.across;
  let b = g / per;
  let rest = g - b * per;
  let r0 = (rest / p.across) * 32u;
  let c0 = (rest % p.across) * 32u;
  let r = r0 + lid.x;
  let c = c0 + lid.y;
  let source = p.base + b * p.batch_stride + r;
  //#for k = 0; k < 32; k += 8
  if (r < p.rows && c + k < p.columns) { tile[(lid.y + k) * 33u + lid.x] = x[source + (c + k) * p.stride]; }
  //#end
  workgroupBarrier();
  let row = r0 + lid.y;
  let column = c0 + lid.x;
  //#for k = 0; k < 32; k += 8
  if (row + k < p.rows && column < p.columns) { y[(b * p.rows + row + k) * p.columns + column] = tile[lid.x * 33u + lid.y + k]; }
  //#end
}
