// Gives the gradients of crops back to the image. Sums are atomic: WGSL has no atomic floats, so that each is tried until no other
// came between.

const NEAREST = false; //#param The nearest pixels; else bilinear interpolation.
const WORKGROUP = 256u; //#let 256

fn element(owner: u32, y: u32, x: u32, d: u32) -> u32 { return ((owner * p.height + y) * p.width + x) * p.depth + d; } //#inline

@group(0) @binding(0) var<storage, read> in0: array<f32>;
@group(0) @binding(1) var<storage, read> in1: array<f32>;
@group(0) @binding(2) var<storage, read> in2: array<i32>;
@group(0) @binding(3) var<storage, read_write> out0: array<atomic<u32>>;
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
fn give(to: u32, v: f32) {
  var old = atomicLoad(&out0[to]);
  loop {
    let tried = atomicCompareExchangeWeak(&out0[to], old, bitcast<u32>(bitcast<f32>(old) + v));
    if (tried.exchanged) { break; }
    old = tried.old_value;
  }
}

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let id = lidx; let d = 0u; let owner = 0u; let inside = true; //#include image/corners.wgsl corners
  let y0 = 0u; let y1 = 0u; let x0 = 0u; let x1 = 0u; let fy = 0.0; let fx = 0.0; //#alone
  if (inside && owner < p.batch) {
    let g = in0[id];
    give(element(owner, y0, x0, d), g * (1.0 - fy) * (1.0 - fx));
    give(element(owner, y0, x1, d), g * (1.0 - fy) * fx);
    give(element(owner, y1, x0, d), g * fy * (1.0 - fx));
    give(element(owner, y1, x1, d), g * fy * fx);
  }
}
