// Depthwise convolution, or the gradient of its image, for software adapters: an invocation makes a rectangle of results of four
// channels, with every tap spelled out. Loops and branches cost such adapters more than the taps that fall outside. Each element
// v_r_j of the image, row r and column j of what the rectangle needs, is loaded once for all the taps f_t that meet it.

alias Element = vec4<f32>; //#param Type of four elements.
alias C = vec4<f32>; //#param Type of four results.
alias Acc = f32; //#param Type of the sums.
const HALF = false; //#param Elements are f16, which are computed with in f32.
const TAPS_Y = 1; //#param Rows of the filter.
const TAPS_X = 1; //#param Columns of the filter.
const STRIDE_Y = 1u; //#param Rows between places.
const STRIDE_X = 1u; //#param Columns between places.
const BACKWARD = false; //#param Taps run backwards: the gradient of the image.
const ROWS = 1u; //#param Rows of results of an invocation.
const COLUMNS = 1u; //#param Columns of results of an invocation.
const EVEN = false; //#param Rectangles cover the result without rest.
const WORKGROUP = 64u; //#param Invocations of a workgroup.
const HEIGHT = 1; //#let (ROWS - 1) * STRIDE_Y + TAPS_Y
const WIDTH = 1; //#let (COLUMNS - 1) * STRIDE_X + TAPS_X
const BACK_Y = 0; //#let TAPS_Y - 1
const BACK_X = 0; //#let TAPS_X - 1
const j = 0; //#index
const r = 0; //#index
const t = 0u; //#index
const s = 0; //#index
const y = 0u; //#index
const x = 0u; //#index

fn load(x: vec4<f32>) -> vec4<f32> { return x; } //#inline !HALF
//: fn load(x: vec4<f16>) -> vec4<f32> { return vec4<f32>(x); } //#inline

@group(0) @binding(0) var<storage, read> image: array<Element>;
@group(0) @binding(1) var<storage, read> taps: array<Element>;
@group(0) @binding(2) var<storage, read_write> result: array<C>;
struct Params {
  total: u32,
  c4: u32,
  yblocks: u32,
  xblocks: u32,
  yrows: u32,
  xrows: u32,
  ylimit: u32,
  xlimit: u32,
  yadd: i32,
  xadd: i32,
}
@group(0) @binding(3) var<uniform> p: Params;

//#slot finish The epilogue, as a function that gives what is stored for a sum.
fn finish(v: vec4<f32>, at: u32, column: u32) -> C { return v; }
//#end

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let i = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (i >= p.total) { return; }
  let c = i % p.c4; let b = i / p.c4;
  let x0 = b % p.xblocks * COLUMNS; let l = b / p.xblocks;
  let y0 = l % p.yblocks * ROWS; let n = l / p.yblocks;
  let ys = i32(y0 * STRIDE_Y) + p.yadd; //#if !BACKWARD
  let xs = i32(x0 * STRIDE_X) + p.xadd; //#if !BACKWARD
  //: let ys = i32(y0 * STRIDE_Y) + p.yadd - BACK_Y; //#if BACKWARD
  //: let xs = i32(x0 * STRIDE_X) + p.xadd - BACK_X; //#if BACKWARD
  //#for j in 0..WIDTH
  let inx_j = u32(xs + j) < p.xlimit; let x_j = u32(select(0, xs + j, inx_j)) * p.c4;
  //#end
  let f_t = load(taps[t * p.c4 + c]); //#for t in 0..TAPS_Y * TAPS_X
  var s_s = vec4<Acc>(); //#for s in 0..ROWS * COLUMNS
  //#for r in 0..HEIGHT
  let iny_r = u32(ys + r) < p.ylimit;
  let y_r = (n * p.ylimit + u32(select(0, ys + r, iny_r))) * p.xlimit * p.c4 + c;
  let v_r_j = select(vec4<Acc>(), load(image[y_r + x_j]), iny_r & inx_j); //#for j in 0..WIDTH
  // The results whose windows this row of the image lies in.
  //#for y in 0..ROWS
  //#let u = r - y * STRIDE_Y
  //#if u >= 0 && u < TAPS_Y
  //#for x in 0..COLUMNS, v in 0..TAPS_X
  //#let s = y * COLUMNS + x
  //#let j = x * STRIDE_X + v
  //#let t = BACKWARD ? (TAPS_Y - 1 - u) * TAPS_X + TAPS_X - 1 - v : u * TAPS_X + v
  s_s += v_r_j * f_t;
  //#end
  //#end
  //#end
  //#end
  //#for y in 0..ROWS, x in 0..COLUMNS
  //#let s = y * COLUMNS + x
  if (y0 + y < p.yrows && x0 + x < p.xrows) { //#if !EVEN
  let at_s = ((n * p.yrows + y0 + y) * p.xrows + x0 + x) * p.c4 + c;
  result[at_s] = finish(s_s, at_s, c);
  } //#if !EVEN
  //#end
}
