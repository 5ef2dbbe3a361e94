// Depthwise convolution, or the gradient of its image where the stride is 1: four channels of PIXELS neighbouring results. Each
// element of an image row is loaded once for all the taps that meet it.

alias Element = vec4<f32>; //#param Type of four elements.
alias C = vec4<f32>; //#param Type of four results.
alias Acc = f32; //#param Type of the sums.
const HALF = false; //#param Elements are f16, which are computed with in f32.
const TAPS = 3u; //#param Taps along a row of the filter.
const STRIDE = 1u; //#param Step between places along a row.
const BACKWARD = false; //#param Taps run backwards: the gradient of the image.
const PIXELS = 4u; //#param Results along a row that an invocation makes.
const WORKGROUP = 64u; //#param Invocations of a workgroup.
const SPAN = 6; //#let (PIXELS - 1) * STRIDE + TAPS
const BACK = 2; //#let TAPS - 1
const j = 0; //#index
const f = 0u; //#index
const k = 0u; //#index

fn load(x: vec4<f32>) -> vec4<f32> { return x; } //#inline !HALF
//: fn load(x: vec4<f16>) -> vec4<f32> { return vec4<f32>(x); } //#inline

@group(0) @binding(0) var<storage, read> image: array<Element>;
@group(0) @binding(1) var<storage, read> taps: array<Element>;
@group(0) @binding(2) var<storage, read_write> result: array<C>;
struct Params {
  total: u32,
  c4: u32,
  blocks: u32,
  yrows: u32,
  xrows: u32,
  ylimit: u32,
  xlimit: u32,
  ytaps: u32,
  ymul: u32,
  yadd: i32,
  ystep: i32,
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
  let x0 = b % p.blocks * PIXELS; let l = b / p.blocks;
  let y = l % p.yrows; let n = l / p.yrows;
  let xs = i32(x0 * STRIDE) + p.xadd; //#if !BACKWARD
  //: let xs = i32(x0 * STRIDE) + p.xadd - BACK; //#if BACKWARD
  var s_k = vec4<Acc>(); //#for k in 0..PIXELS
  //#for j in 0..SPAN
  let ok_j = u32(xs + j) < p.xlimit; let xi_j = u32(select(0, xs + j, ok_j)) * p.c4 + c;
  //#end
  for (var u = 0u; u < p.ytaps; u++) {
    let ys = i32(y * p.ymul) + p.yadd + i32(u) * p.ystep;
    if (u32(ys) >= p.ylimit) { continue; }
    let base = (n * p.ylimit + u32(ys)) * p.xlimit * p.c4;
    let f_f = load(taps[(u * TAPS + f) * p.c4 + c]); //#for f in 0..TAPS
    let v_j = select(vec4<Acc>(), load(image[base + xi_j]), ok_j); //#for j in 0..SPAN
    //#for k in 0..PIXELS, f in 0..TAPS
    //#let j = k * STRIDE + (BACKWARD ? TAPS - 1 - f : f)
    s_k += v_j * f_f;
    //#end
  }
  let at = (l * p.xrows + x0) * p.c4 + c;
  if (x0 + k < p.xrows) { result[at + k * p.c4] = finish(s_k, at + k * p.c4, c); } //#for k in 0..PIXELS
}
