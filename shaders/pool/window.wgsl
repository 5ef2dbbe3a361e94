// Pooling with windows as results: an invocation makes one result, or four or eight channels of one. Images have channels last.

//#include eights.wgsl
alias In = f32; //#param Type of what is read at once.
alias Picked = f32; //#param Type of what is picked from.
alias Out = f32; //#param Type of what is stored at once.
alias V = f32; //#param Type of what is computed at once: one element, or four.
alias Index = u32; //#param Type of indices that go with them.
alias Flag = bool; //#param Type of conditions of them.
alias Positions = i32; //#param Type of flat positions that go with them.
alias Acc = f32; //#param Type in which elements are computed with.
const KIND = 0; //#param Kind of result: 0 maxima, 1 means, 2 the tap of the maximum, 3 the second operand at the maximum, 4 maxima and their flat positions.
const DEEP = true; //#param There is a depth axis.
const WIDE = false; //#param Four channels at once.
const EIGHTS = false; //#param Eight channels in one load, as two fours; only of greatest elements and means.
const FILTERED = false; //#param Each element gets the tap of a filter added first: dilation.
const HALF = false; //#param Elements are f16, which are computed with in f32.
const WORKGROUP = 64u; //#param Invocations of a workgroup.
const h = 0; //#index
const l = 0u; //#lane

fn store(x: f32) -> f32 { return x; } //#inline !HALF
//: fn store(x: f32) -> f16 { return Out(x); } //#inline
//: fn start() -> f32 { return V(0); } //#inline KIND == 1
//: fn start() -> f32 { return lowest(); } //#inline
fn mean(r: f32, count: u32) -> f32 { return select(V(0), r / Acc(max(count, 1u)), count > 0u); } //#inline
fn pixels() -> u32 { return p.zlimit * p.ylimit * p.xlimit; } //#inline DEEP
//: fn pixels() -> u32 { return p.ylimit * p.xlimit; } //#inline

@group(0) @binding(0) var<storage, read> in0: array<In>;
//: @group(0) @binding(1) var<storage, read> in1: array<Picked>; //#if KIND == 3
//: @group(0) @binding(1) var<storage, read> in1: array<In>; //#if FILTERED
@group(0) @binding(2) var<storage, read_write> out0: array<Out>;
//: @group(0) @binding(3) var<storage, read_write> out1: array<Positions>; //#if KIND == 4
struct Params {
  total: u32,
  channels: u32,
  batched: u32,
  lowest: f32,
  zrows: u32, zmul: u32, zadd: i32, zstep: i32, zlimit: u32, ztaps: u32, zphases: u32, zomul: u32, zoadd: i32, zolimit: u32, //#if DEEP
  yrows: u32, ymul: u32, yadd: i32, ystep: i32, ylimit: u32, ytaps: u32, yphases: u32, yomul: u32, yoadd: i32, yolimit: u32,
  xrows: u32, xmul: u32, xadd: i32, xstep: i32, xlimit: u32, xtaps: u32, xphases: u32, xomul: u32, xoadd: i32, xolimit: u32,
}
@group(0) @binding(4) var<uniform> p: Params;

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
  //#if KIND <= 1
  var r = V(0); //#alone
  //: var r = start(); //#if !EIGHTS
  //: var r_h = start(); //#for h in 0..EIGHTS ? 2 : 0
  //#else
  var best = V(0); //#alone
  //: var best = lowest();
  var where_ = Index(0u);
  var none = true;
  //#end
  //#include pool/walk.wgsl walk BODY = take
  //#if KIND == 0
  //: out0[i] = join(r_0, r_1); //#if EIGHTS
  out0[i] = store(r); //#if !EIGHTS
  //#elif KIND == 1
  // An axis with no valid tap leaves the inner counts of an earlier window untouched: they do not matter.
  //: let count = all_taps(zcount, ycount, xcount);
  //: out0[i] = join(mean(r_0, count), mean(r_1, count)); //#if EIGHTS
  //: out0[i] = store(mean(r, count)); //#if !EIGHTS
  //#elif KIND == 2
  //: out0[i] = select(where_, Index(0xffffffffu), Flag(none));
  //#elif KIND == 3 && WIDE
  //: out0[i] = Out(
  //:   select(Picked(0), in1[(where_[l] * p.channels + c) * 4u + l], !none) //#for l in 0..4 sep ,
  //: );
  //#elif KIND == 3
  //: out0[i] = select(Picked(0), in1[where_ * p.channels + c], !none);
  //#else
  //: out0[i] = store(best);
  //: let pixels = pixels();
  //: let at = where_ - Index(select(n_w * pixels, 0u, p.batched != 0u));
  //: out1[i] = Positions((at * p.channels + c) * 4u + vec4(0u, 1u, 2u, 3u)); //#if WIDE
  //: out1[i] = Positions(at * p.channels + c); //#if !WIDE
  //#end
}
