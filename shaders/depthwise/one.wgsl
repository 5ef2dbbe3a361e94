// Depthwise convolution, one result (or four channels of one) an invocation: any filter, any number of filters a channel.

alias Element = f32; //#param Type of what is read at once.
alias C = f32; //#param Type of what is stored at once.
alias Sum = f32; //#param Type of the sums.
const HALF = false; //#param Elements are f16, which are computed with in f32.
const WORKGROUP = 64u; //#param Invocations of a workgroup.

fn load(x: f32) -> f32 { return x; } //#inline !HALF
//: fn load(x: f16) -> f32 { return Sum(x); } //#inline

@group(0) @binding(0) var<storage, read> image: array<Element>;
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

//#slot finish The epilogue, as a function that gives what is stored for a sum.
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
  let x = b % p.xrows; let l = b / p.xrows; let y = l % p.yrows; let n = l / p.yrows;
  var s = Sum();
  for (var u = 0u; u < p.ytaps; u++) {
    let ys = y * p.ystride + u * p.ydilation - p.ybefore;
    if (ys >= p.ylimit) { continue; }
    for (var v = 0u; v < p.xtaps; v++) {
      let xs = x * p.xstride + v * p.xdilation - p.xbefore;
      if (xs >= p.xlimit) { continue; }
      s += load(image[((n * p.ylimit + ys) * p.xlimit + xs) * p.channels + c]) * load(taps[(u * p.xtaps + v) * width + oc]);
    }
  }
  result[i] = finish(s, i, oc);
}
