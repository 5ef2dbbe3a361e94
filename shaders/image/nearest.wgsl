// Resizing by copying the nearest pixels.

alias Element = u32; //#param Type of what moves at once.
const HALF_PIXELS = false; //#param Places are those of the centers of pixels.
const ALIGNED = false; //#param The nearest pixel is the rounded place, not the one below it.
const WORKGROUP = 256u; //#let 256

@group(0) @binding(0) var<storage, read> image: array<Element>;
@group(0) @binding(1) var<storage, read_write> resized: array<Element>;
struct Params {
  n: u32,
  height: u32,
  width: u32,
  depth: u32,
  rows: u32,
  columns: u32,
  down: f32,
  across: f32,
}
@group(0) @binding(2) var<uniform> p: Params;

fn nearest(at: u32, scale: f32, extent: u32) -> u32 { return min(extent - 1u, u32(f32(at) * scale)); } //#include image/scale.wgsl functions

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let id = lidx; let b = 0u; let r = 0u; let c = 0u; let d = 0u; //#include image/scale.wgsl pixel ROWS = p.rows; COLUMNS = p.columns
  let y = nearest(r, p.down, p.height);
  let x = nearest(c, p.across, p.width);
  resized[id] = image[((b * p.height + y) * p.width + x) * p.depth + d];
}
