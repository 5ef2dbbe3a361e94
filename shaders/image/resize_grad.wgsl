// Gradient of resizing, gathered: each pixel of the input looks through the output pixels it may have gone into, those that reach within
// one pixel; the first and last pixel also stand for all beyond.

alias Element = f32; //#param Type of what is read at once.
alias Stored = f32; //#param Type of what is stored at once.
alias Sum = f32; //#param Type of what is summed at once.
const BILINEAR = true; //#param Of bilinear resizing; else of the nearest pixels.
const WHOLE = false; //#param Sums are whole numbers, which have no weight but 1.
const CONVERTED = false; //#param Sums are stored in another type.
const HALF_PIXELS = false; //#param Places are those of the centers of pixels.
const ALIGNED = false; //#param The nearest pixel is the rounded place, not the one below it.
const WORKGROUP = 256u; //#let 256

fn shifted(at: f32) -> f32 { return at + 0.0; } //#inline !HALF_PIXELS
//: fn shifted(at: f32) -> f32 { return at + 0.5; } //#inline
fn back(at: f32) -> f32 { return at - 0.0; } //#inline !HALF_PIXELS
//: fn back(at: f32) -> f32 { return at - 0.5; } //#inline
fn weighed(w: f32, x: f32) -> f32 { return w * x; } //#inline !WHOLE
//: fn weighed(w: f32, x: i32) -> i32 { return x; } //#inline
fn stored(x: f32) -> f32 { return x; } //#inline !CONVERTED
//: fn stored(x: f32) -> f16 { return Stored(x); } //#inline

@group(0) @binding(0) var<storage, read> gradient: array<Element>;
@group(0) @binding(1) var<storage, read_write> result: array<Stored>;
struct Params {
  n: u32,
  height: u32,
  width: u32,
  depth: u32,
  rows: u32,
  columns: u32,
  down: f32,
  across: f32,
  up: f32,
  back: f32,
}
@group(0) @binding(2) var<uniform> p: Params;

fn source(at: u32, scale: f32) -> f32 { return f32(at) * scale; } //#include image/scale.wgsl functions
fn low(place: f32) -> u32 { return u32(place); } //#alone
fn high(place: f32, extent: u32) -> u32 { return min(u32(place) + 1u, extent); } //#alone
fn first(at: u32, inverse: f32) -> u32 {
  if (at == 0u || inverse == 0.0) { return 0u; }
  return u32(max(0.0, floor(back(shifted(f32(at) - 1.0) * inverse))));
}
fn last(at: u32, inverse: f32, extent: u32, count: u32) -> u32 {
  if (at + 1u == extent || inverse == 0.0) { return count - 1u; }
  return min(count - 1u, u32(max(0.0, ceil(back(shifted(f32(at) + 1.0) * inverse)))));
}
fn weight(at: u32, scale: f32, mine: u32, extent: u32) -> f32 {
  //#if BILINEAR
  let place = source(at, scale);
  let far = place - floor(place);
  return select(0.0, 1.0 - far, low(place) == mine) + select(0.0, far, high(place, extent) == mine);
  //#else
  //: return select(0.0, 1.0, nearest(at, scale, extent) == mine);
  //#end
}

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let id = lidx; let b = 0u; let r = 0u; let c = 0u; let d = 0u; //#include image/scale.wgsl pixel ROWS = p.height; COLUMNS = p.width
  let y1 = last(r, p.up, p.height, p.rows);
  let x0 = first(c, p.back);
  let x1 = last(c, p.back, p.width, p.columns);
  var sum = Sum();
  for (var y = first(r, p.up); y <= y1; y++) {
    let wy = weight(y, p.down, r, p.height);
    if (wy != 0.0) {
      for (var x = x0; x <= x1; x++) {
        let w = wy * weight(x, p.across, c, p.width);
        if (w != 0.0) { sum += weighed(w, Sum(gradient[((b * p.rows + y) * p.columns + x) * p.depth + d])); }
      }
    }
  }
  result[id] = stored(sum);
}
