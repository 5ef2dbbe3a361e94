// A reduction of contiguous rows, `[groups / parts, n]`: a workgroup for each (partial) row. Each invocation takes elements a workgroup
// apart into two accumulators; what they found is joined as a tree in workgroup memory.

alias In = vec4<f32>; //#param Type of what is loaded at once.
alias To = f32; //#param Type of one stored element.
alias Acc = f32; //#param Type of one accumulator's lane.
alias V = vec4<f32>; //#param Type of the accumulators.
const COMBINE = 0; //#param Combination of two values: 0 sum, 1 product, 2 maximum, 3 minimum.
const IDENTITY = 0.0; //#text The result of nothing.
const WIDE = true; //#param Four elements are taken at once.
const HALF_FROM = false; //#param The elements read are f16; they are computed in f32.
const HALF_TO = false; //#param The elements stored are f16.
const COMPUTED = false; //#param Elements are computed by `load_`, not read.
const DIVIDED = false; //#param Results are divided by p.count.
const FINISHED = false; //#param Results go through an epilogue.
const WORKGROUP = 64u; //#param Invocations of a workgroup.
// NaN must win among extremes of floats.
const KEEPS_NAN = false; //#let Acc == "f32" && COMBINE > 1
const half = 32u; //#index

fn fold_one(a: f32, b: f32) -> f32 { return a + b; } //#inline COMBINE == 0
//: fn fold_one(a: f32, b: f32) -> f32 { return a * b; } //#inline COMBINE == 1
//: fn fold_one(a: f32, b: f32) -> f32 { return extreme1_(a, b); } //#inline KEEPS_NAN
//: fn fold_one(a: f32, b: f32) -> f32 { return max(a, b); } //#inline COMBINE == 2
//: fn fold_one(a: f32, b: f32) -> f32 { return min(a, b); } //#inline
fn fold(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> { return a + b; } //#inline COMBINE == 0
//: fn fold(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> { return extreme4_(a, b); } //#inline KEEPS_NAN && WIDE
//: fn fold(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> { return fold_one(a, b); } //#inline
fn element(at: u32) -> vec4<f32> { return in0[at]; } //#inline !COMPUTED && !HALF_FROM
//: fn element(at: u32) -> vec4<f32> { return load_(at); } //#inline COMPUTED
//: fn element(at: u32) -> vec4<f32> { return V(in0[at]); } //#inline
fn total(a: vec4<f32>) -> f32 { return fold_one(fold_one(a.x, a.y), fold_one(a.z, a.w)); } //#inline WIDE
//: fn total(a: f32) -> f32 { return a; } //#inline
//: fn divided(x: f32) -> f32 { return x / p.count; } //#inline DIVIDED
fn divided(x: f32) -> f32 { return x; } //#inline
//: fn stored(x: f32, at: u32) -> f32 { return finish(divided(x), at, 0u); } //#inline FINISHED
fn stored(x: f32, at: u32) -> f32 { return divided(x); } //#inline !HALF_TO
//: fn stored(x: f32, at: u32) -> f16 { return To(divided(x)); } //#inline

@group(0) @binding(0) var<storage, read> in0: array<In>; //#if !COMPUTED
@group(0) @binding(1) var<storage, read_write> out0: array<To>;
struct Params {
  groups: u32,
  n: u32,
  parts: u32,
  count: f32,
}
@group(0) @binding(2) var<uniform> p: Params;

//#slot helpers Functions of shaders/scalar.wgsl that the texts call.
//#end
//#if KEEPS_NAN
//#include reduce/extremes.wgsl one
//#if WIDE
//#include reduce/extremes.wgsl four
//#end
//#end
//#slot source Declares `load_`, which computes elements.
//#end
//#slot finish The epilogue, as a function that gives what is stored for a result.
//#end
var<workgroup> shared_: array<Acc, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let g = wid.x + wid.y * nwg.x;
  if (g >= p.groups) { return; }
  let base = (g / p.parts) * p.n;
  let step = p.parts * WORKGROUP;
  var k = (g % p.parts) * WORKGROUP + lidx;
  let id = V(IDENTITY);
  var a0 = id;
  var a1 = id;
  for (; k + step < p.n; k += 2u * step) {
    let v0 = element(base + k);
    let v1 = element(base + k + step);
    a0 = fold(a0, v0);
    a1 = fold(a1, v1);
  }
  if (k < p.n) {
    let v = element(base + k);
    a0 = fold(a0, v);
  }
  a0 = fold(a0, a1);
  shared_[lidx] = total(a0);
  workgroupBarrier();
  //#for half = WORKGROUP >> 1; half > 0; half >>= 1
  if (lidx < half) { shared_[lidx] = fold_one(shared_[lidx], shared_[lidx + half]); }
  workgroupBarrier();
  //#end
  if (lidx == 0u) { out0[g] = stored(shared_[0], g); }
}
