// Where resizing reads: the place in the input for an output coordinate, and the pixels around it. And which pixel an invocation makes.

const HALF_PIXELS = false; //#param Places are those of the centers of pixels.
const ALIGNED = false; //#param The nearest pixel is the rounded place, not the one below it.

fn place(at: u32, scale: f32) -> f32 { return f32(at) * scale; } //#inline !HALF_PIXELS
//: fn place(at: u32, scale: f32) -> f32 { return (f32(at) + 0.5) * scale; } //#inline

//#piece functions
fn source(at: u32, scale: f32) -> f32 { return place(at, scale); } //#if !HALF_PIXELS
//: fn source(at: u32, scale: f32) -> f32 { return place(at, scale) - 0.5; } //#if HALF_PIXELS
fn nearest(at: u32, scale: f32, extent: u32) -> u32 { return min(extent - 1u, u32(max(0.0, floor(place(at, scale))))); } //#if !ALIGNED
//: fn nearest(at: u32, scale: f32, extent: u32) -> u32 { return min(extent - 1u, u32(max(0.0, floor(place(at, scale) + 0.5)))); } //#if ALIGNED
fn low(place: f32) -> u32 { return u32(max(0.0, floor(place))); }
fn high(place: f32, extent: u32) -> u32 { return min(extent - 1u, u32(max(0.0, ceil(place)))); }
//#end

struct Params { n: u32, depth: u32, rows: u32, columns: u32 }
@group(0) @binding(0) var<uniform> p: Params;
const WORKGROUP = 256u;
const ROWS = 1u;
const COLUMNS = 1u;

fn made(wid: vec3<u32>, nwg: vec3<u32>, lidx: u32) {
  // Channel d at row r and column c of image b; element id.
  //#piece pixel ROWS COLUMNS
  let id = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (id >= p.n) { return; }
  let pixel = id / p.depth;
  let d = id - pixel * p.depth;
  let line = pixel / COLUMNS;
  let c = pixel - line * COLUMNS;
  let b = line / ROWS;
  let r = line - b * ROWS;
  //#end
}
