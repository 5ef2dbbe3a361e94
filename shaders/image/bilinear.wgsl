// Bilinear resizing: an invocation makes a pixel's channel, or four where there are as many.

alias Element = f32; //#param Type of what is read at once.
alias Real = f32; //#param Type of what is computed and stored at once.
const HALF_PIXELS = false; //#param Places are those of the centers of pixels.
const ALIGNED = false; //#param The nearest pixel is the rounded place, not the one below it.
const WORKGROUP = 256u; //#let 256

fn load_at(b: u32, y: u32, x: u32, d: u32) -> f32 { return Real(image[((b * p.height + y) * p.width + x) * p.depth + d]); } //#inline

@group(0) @binding(0) var<storage, read> image: array<Element>;
@group(0) @binding(1) var<storage, read_write> resized: array<Real>;
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

fn source(at: u32, scale: f32) -> f32 { return f32(at) * scale; } //#include image/scale.wgsl functions
fn low(place: f32) -> u32 { return u32(place); } //#alone
fn high(place: f32, extent: u32) -> u32 { return min(u32(place) + 1u, extent); } //#alone

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let id = lidx; let b = 0u; let r = 0u; let c = 0u; let d = 0u; //#include image/scale.wgsl pixel ROWS = p.rows; COLUMNS = p.columns
  let y = source(r, p.down);
  let x = source(c, p.across);
  let top = low(y);
  let bottom = high(y, p.height);
  let left = low(x);
  let right = high(x, p.width);
  let fy = y - floor(y);
  let fx = x - floor(x);
  let a = load_at(b, top, left, d);
  let e = load_at(b, bottom, left, d);
  let above = a + (load_at(b, top, right, d) - a) * fx;
  let below = e + (load_at(b, bottom, right, d) - e) * fx;
  resized[id] = above + (below - above) * fy;
}
