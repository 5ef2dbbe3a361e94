// Crops resized to one size. A box of an image that does not exist gives zeros.

alias Element = f32; //#param Type of the images' elements.
const NEAREST = false; //#param The nearest pixels; else bilinear interpolation.
const WORKGROUP = 256u; //#let 256

fn pixel_at(owner: u32, y: u32, x: u32, d: u32) -> f32 { return f32(in0[((owner * p.height + y) * p.width + x) * p.depth + d]); } //#inline

@group(0) @binding(0) var<storage, read> in0: array<Element>;
@group(0) @binding(1) var<storage, read> in1: array<f32>;
@group(0) @binding(2) var<storage, read> in2: array<i32>;
@group(0) @binding(3) var<storage, read_write> out0: array<f32>;
struct Params {
  n: u32,
  batch: u32,
  height: u32,
  width: u32,
  depth: u32,
  rows: u32,
  columns: u32,
  outside: f32,
}
@group(0) @binding(4) var<uniform> p: Params;

//#include image/corners.wgsl place

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let id = lidx; let d = 0u; let owner = 0u; let inside = true; //#include image/corners.wgsl corners
  let y0 = 0u; let y1 = 0u; let x0 = 0u; let x1 = 0u; let fy = 0.0; let fx = 0.0; //#alone
  var v = p.outside;
  if (owner >= p.batch) { v = 0.0; } else if (inside) {
    let a = pixel_at(owner, y0, x0, d);
    let e = pixel_at(owner, y1, x0, d);
    let above = a + (pixel_at(owner, y0, x1, d) - a) * fx;
    let below = e + (pixel_at(owner, y1, x1, d) - e) * fx;
    v = above + (below - above) * fy;
  }
  out0[id] = v;
}
