// The four pixels around a place of a crop, for crops resized to one size.

const NEAREST = false; //#param Only the nearest pixel counts.

struct Params { n: u32, height: u32, width: u32, depth: u32, rows: u32, columns: u32 }
@group(0) @binding(0) var<storage, read> in1: array<f32>;
@group(0) @binding(1) var<storage, read> in2: array<i32>;
@group(0) @binding(2) var<uniform> p: Params;
const WORKGROUP = 256u;

//#piece place
// A quotient rounded as a CPU rounds it: adapters may be wrong in its last bits, and the last row of a whole image would lie outside of it.
fn quotient(a: f32, b: f32) -> f32 {
  let q = a / b;
  let c = 4097.0 * q;
  let high = c - (c - q);
  return q + ((a - high * b) - (q - high) * b) / b;
}

fn place(begin: f32, end: f32, extent: u32, at: u32, steps: u32) -> f32 {
  let span = f32(extent - 1u);
  if (steps > 1u) { return begin * span + quotient(f32(at) * (end - begin) * span, f32(steps - 1u)); }
  return 0.5 * (begin + end) * span;
}
//#end

fn corners(wid: vec3<u32>, nwg: vec3<u32>, lidx: u32) {
  // Whether the place is inside; rows y0 and y1, columns x0 and x1, how far it lies from the first; the image and the channel.
  //#piece corners
  let id = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (id >= p.n) { return; }
  let pixel = id / p.depth;
  let d = id - pixel * p.depth;
  let line = pixel / p.columns;
  let c = pixel - line * p.columns;
  let box = line / p.rows;
  let r = line - box * p.rows;
  let owner = u32(in2[box]);
  let py = place(in1[4u * box], in1[4u * box + 2u], p.height, r, p.rows);
  let px = place(in1[4u * box + 1u], in1[4u * box + 3u], p.width, c, p.columns);
  let inside = (py >= 0.0) & (py <= f32(p.height - 1u)) & (px >= 0.0) & (px <= f32(p.width - 1u));
  //#if NEAREST
  //: let y0 = u32(max(0.0, floor(py + 0.5))); let y1 = y0; let fy = 0.0;
  //: let x0 = u32(max(0.0, floor(px + 0.5))); let x1 = x0; let fx = 0.0;
  //#else
  let y0 = u32(max(0.0, floor(py))); let y1 = u32(max(0.0, ceil(py))); let fy = py - floor(py);
  let x0 = u32(max(0.0, floor(px))); let x1 = u32(max(0.0, ceil(px))); let fx = px - floor(px);
  //#end
  //#end
}
