// Gradient of pooling with elements of the image as results: each collects from the windows it lies in. Inputs are the gradient and,
// of greatest elements, the tap that each window took.

alias In = f32; //#param Type of what is read and stored at once.
alias V = f32; //#param Type of what is computed at once: one element, or four.
alias Index = u32; //#param Type of indices that go with them.
alias Acc = f32; //#param Type in which elements are computed with.
const MEANS = false; //#param Of means; else of greatest elements.
const DEEP = true; //#param There is a depth axis.
const HALF = false; //#param Elements are f16, which are computed with in f32.
const WORKGROUP = 64u; //#param Invocations of a workgroup.

fn load(x: f32) -> f32 { return x; } //#inline !HALF
//: fn load(x: f16) -> f32 { return V(x); } //#inline
fn store(x: f32) -> f32 { return x; } //#inline !HALF
//: fn store(x: f32) -> f16 { return In(x); } //#inline
fn all_taps(z: i32, y: i32, x: i32) -> i32 { return z * y * x; } //#inline DEEP
//: fn all_taps(z: i32, y: i32, x: i32) -> i32 { return y * x; } //#inline

@group(0) @binding(0) var<storage, read> in0: array<In>;
@group(0) @binding(1) var<storage, read> in1: array<Index>; //#if !MEANS
@group(0) @binding(2) var<storage, read_write> out0: array<In>;
struct Params {
  total: u32,
  channels: u32,
  batched: u32,
  lowest: f32,
  zrows: u32, zmul: u32, zadd: i32, zstep: i32, zlimit: u32, ztaps: u32, zphases: u32, zomul: u32, zoadd: i32, zolimit: u32, //#if DEEP
  yrows: u32, ymul: u32, yadd: i32, ystep: i32, ylimit: u32, ytaps: u32, yphases: u32, yomul: u32, yoadd: i32, yolimit: u32,
  xrows: u32, xmul: u32, xadd: i32, xstep: i32, xlimit: u32, xtaps: u32, xphases: u32, xomul: u32, xoadd: i32, xolimit: u32,
}
@group(0) @binding(3) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let i = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (i >= p.total) { return; }
  let c = i % p.channels; let b = i / p.channels;
  let x = b % p.xlimit; let xr = b / p.xlimit;
  let y = xr % p.ylimit; let yr = xr / p.ylimit;
  let z = yr % p.zlimit; let n = yr / p.zlimit; //#if DEEP
  //: let n = yr; //#if !DEEP
  var sum = V(0);
  // A negative position wraps to a large one. Of means, count is the taps of a window that lie inside.
  //#if DEEP
  for (var uz = 0u; uz < p.ztaps; uz++) {
    let za = u32(i32(z) - p.zadd - i32(uz) * p.zstep);
    let zt = za / p.zmul;
    if (zt >= p.zrows || zt * p.zmul != za) { continue; }
    //#if MEANS
    let zo = i32(zt * p.zmul) + p.zadd;
    let zlo = select(0, (p.zstep - 1 - zo) / p.zstep, zo < 0);
    let zhi = min(i32(p.ztaps) - 1, (i32(p.zlimit) - 1 - zo) / p.zstep);
    let zcount = zhi - zlo + 1;
    //#end
  //#end
    for (var uy = 0u; uy < p.ytaps; uy++) {
      let ya = u32(i32(y) - p.yadd - i32(uy) * p.ystep);
      let yt = ya / p.ymul;
      if (yt >= p.yrows || yt * p.ymul != ya) { continue; }
      //#if MEANS
      let yo = i32(yt * p.ymul) + p.yadd;
      let ylo = select(0, (p.ystep - 1 - yo) / p.ystep, yo < 0);
      let yhi = min(i32(p.ytaps) - 1, (i32(p.ylimit) - 1 - yo) / p.ystep);
      let ycount = yhi - ylo + 1;
      //#end
      for (var ux = 0u; ux < p.xtaps; ux++) {
        let xa = u32(i32(x) - p.xadd - i32(ux) * p.xstep);
        let xt = xa / p.xmul;
        if (xt >= p.xrows || xt * p.xmul != xa) { continue; }
        //#if MEANS
        let xo = i32(xt * p.xmul) + p.xadd;
        let xlo = select(0, (p.xstep - 1 - xo) / p.xstep, xo < 0);
        let xhi = min(i32(p.xtaps) - 1, (i32(p.xlimit) - 1 - xo) / p.xstep);
        let xcount = xhi - xlo + 1;
        //#end
        let at = (((n * p.zrows + zt) * p.yrows + yt) * p.xrows + xt) * p.channels + c; //#if DEEP
        //: let at = ((n * p.yrows + yt) * p.xrows + xt) * p.channels + c; //#if !DEEP
        let g = load(in0[at]);
        //: sum += g / Acc(all_taps(zcount, ycount, xcount)); //#if MEANS
        sum += select(V(0), g, in1[at] == Index(((0u * p.ztaps + uz) * p.ytaps + uy) * p.xtaps + ux)); //#if !MEANS && DEEP
        //: sum += select(V(0), g, in1[at] == Index((0u * p.ytaps + uy) * p.xtaps + ux)); //#if !MEANS && !DEEP
      }
    }
  } //#if DEEP
  out0[i] = store(sum);
}
