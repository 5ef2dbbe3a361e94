// Gradient of the filter of a depthwise convolution: an invocation makes TAPS neighbouring elements along a row, summed over some
// lines of places. wid.z counts the parts into which the lines are cut.

alias Element = f32; //#param Type of what is read at once.
alias C = f32; //#param Type of what is stored at once.
alias Sum = f32; //#param Type of the sums.
const HALF = false; //#param Elements are f16, which are computed with in f32.
const TAPS = 3u; //#param Elements along a row of the filter that an invocation makes.
const WORKGROUP = 64u; //#param Invocations of a workgroup.
const f = 0u; //#index

fn load(x: f32) -> f32 { return x; } //#inline !HALF
//: fn load(x: f16) -> f32 { return Sum(x); } //#inline

@group(0) @binding(0) var<storage, read> image: array<Element>;
@group(0) @binding(1) var<storage, read> gradient: array<Element>;
@group(0) @binding(2) var<storage, read_write> result: array<C>;
// Channels count what is moved at once.
struct Params {
  total: u32,
  channels: u32,
  filters: u32,
  lines: u32,
  step: u32,
  yrows: u32,
  xrows: u32,
  ylimit: u32,
  xlimit: u32,
  xtaps: u32,
  ystride: u32,
  xstride: u32,
  ydilation: u32,
  xdilation: u32,
  ybefore: u32,
  xbefore: u32,
}
@group(0) @binding(3) var<uniform> p: Params;

//#slot finish A function from a sum to the value stored.
fn finish(v: f32, at: u32, column: u32) -> C { return v; }
//#end

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let i = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (i >= p.total) { return; }
  let width = p.channels * p.filters;
  let oc = i % width; let b = i / width; let c = oc / p.filters;
  let blocks = p.xtaps / TAPS;
  let v0 = b % blocks * TAPS; let u = b / blocks;
  var s_f = Sum(); //#for f in 0..TAPS
  for (var line = wid.z * p.step; line < min((wid.z + 1u) * p.step, p.lines); line++) {
    let y = line % p.yrows; let n = line / p.yrows;
    let ys = y * p.ystride + u * p.ydilation - p.ybefore;
    if (ys >= p.ylimit) { continue; }
    for (var x = 0u; x < p.xrows; x++) {
      let g = load(gradient[(line * p.xrows + x) * width + oc]);
      //#for f in 0..TAPS
      let x_f = x * p.xstride + (v0 + f) * p.xdilation - p.xbefore; let ok_f = x_f < p.xlimit;
      s_f += g * select(Sum(), load(image[((n * p.ylimit + ys) * p.xlimit + select(0u, x_f, ok_f)) * p.channels + c]), ok_f);
      //#end
    }
  }
  let at = wid.z * p.total * TAPS + (u * p.xtaps + v0) * width + oc;
  result[at + f * width] = finish(s_f, at, oc); //#for f in 0..TAPS
}
