// Gradient of the image of a depthwise convolution, one element (or four channels of one) an invocation: any stride and dilation.
// Rows are those of the image, limits those of the incoming gradient.

alias Element = f32; //#param Type of what is read at once.
alias C = f32; //#param Type of what is stored at once.
alias Sum = f32; //#param Type of the sums.
const HALF = false; //#param Elements are f16, which are computed with in f32.
const WORKGROUP = 64u; //#param Invocations of a workgroup.

fn load(x: f32) -> f32 { return x; } //#inline !HALF
//: fn load(x: f16) -> f32 { return Sum(x); } //#inline

@group(0) @binding(0) var<storage, read> gradient: array<Element>;
@group(0) @binding(1) var<storage, read> taps: array<Element>;
@group(0) @binding(2) var<storage, read_write> result: array<C>;
// Channels count what is moved at once.
struct Params {
  total: u32,
  channels: u32,
  filters: u32,
  yrows: u32,
  xrows: u32,
  ylimit: u32,
  xlimit: u32,
  ytaps: u32,
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
  let c = i % p.channels; let b = i / p.channels;
  let x = b % p.xrows; let l = b / p.xrows; let y = l % p.yrows; let n = l / p.yrows;
  var s = Sum();
  for (var u = 0u; u < p.ytaps; u++) {
    let ya = y + p.ybefore - u * p.ydilation;
    let ys = ya / p.ystride;
    // A negative position wraps to a large one.
    if (ys >= p.ylimit || ys * p.ystride != ya) { continue; }
    for (var v = 0u; v < p.xtaps; v++) {
      let xa = x + p.xbefore - v * p.xdilation;
      let xs = xa / p.xstride;
      if (xs >= p.xlimit || xs * p.xstride != xa) { continue; }
      let g = ((n * p.ylimit + ys) * p.xlimit + xs) * width + c * p.filters;
      let f = (u * p.xtaps + v) * width + c * p.filters;
      for (var q = 0u; q < p.filters; q++) {
        s += load(gradient[g + q]) * load(taps[f + q]);
      }
    }
  }
  result[i] = finish(s, i, c);
}
