// Gradient of taking greatest elements where each element of the image lies in just one window: by windows. Inputs are the image and
// the gradient.

alias In = f32; //#param Type of what is read and stored at once.
alias V = f32; //#param Type of what is computed at once: one element, or four.
alias Index = u32; //#param Type of indices that go with them.
alias Flag = bool; //#param Type of conditions of them.
alias Acc = f32; //#param Type in which elements are computed with.
const DEEP = true; //#param There is a depth axis.
const HALF = false; //#param Elements are f16, which are computed with in f32.
const KIND = 2; //#let 2
const EIGHTS = false; //#let false
const WORKGROUP = 64u; //#param Invocations of a workgroup.

fn store(x: f32) -> f32 { return x; } //#inline !HALF
//: fn store(x: f32) -> f16 { return In(x); } //#inline

@group(0) @binding(0) var<storage, read> in0: array<In>;
@group(0) @binding(1) var<storage, read> in1: array<In>;
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
  let n_w = 0u; let z_w = 0u; let y_w = 0u; let x_w = 0u; //#include conv/places.wgsl split ROW = b; S = w
  let z0_w = 0i; let y0_w = 0i; let x0_w = 0i; //#include conv/places.wgsl origin S = w
  //: var best = lowest();
  //: var where_ = Index(0u);
  //: var none = true;
  //#include pool/walk.wgsl walk BODY = take
  //: let g = load(in1[i]);
  //: {
  //#include pool/walk.wgsl walk BODY = give
  //: }
}
