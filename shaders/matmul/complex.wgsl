// Arranges complex matrices for a product of real numbers: as rows of parts, or with each number a + bi as the block [[a, b], [-b, a]]
// (BLOCKS). An invocation moves one number.

const BLOCKS = true; //#param Numbers become blocks.
const TRANSPOSED = false; //#param The matrix is stored transposed.
const CONJUGATED = false; //#param The conjugates are meant.
const WORKGROUP = 256u; //#let 256

@group(0) @binding(0) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec2<f32>>;
struct Params {
  n: u32,
  rows: u32,
  columns: u32,
}
@group(0) @binding(2) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let i = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (i >= p.n) { return; }
  let row = i / p.columns;
  let c = i - row * p.columns;
  let v = x[i]; //#if !TRANSPOSED && !CONJUGATED
  //: let v = vec2<f32>(x[i].x, -x[i].y); //#if !TRANSPOSED && CONJUGATED
  //#if TRANSPOSED
  //: let b = row / p.rows;
  //: let z = x[(b * p.columns + c) * p.rows + row - b * p.rows];
  //: let v = z; //#if !CONJUGATED
  //: let v = vec2<f32>(z.x, -z.y); //#if CONJUGATED
  //#end
  //#if BLOCKS
  let at = 2u * row * p.columns + c;
  y[at] = v;
  y[at + p.columns] = vec2<f32>(-v.y, v.x);
  //#else
  //: y[i] = v;
  //#end
}
