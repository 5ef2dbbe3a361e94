// Running sums or products of lines that lie contiguous in memory: a workgroup for each line, or chunk of one. It takes tiles of four
// elements an invocation, scans their totals over the workgroup (Hillis and Steele, between two halves of workgroup memory) and
// carries the end of each tile on to the next.

alias From = f32; //#param Type of the elements.
alias Acc = f32; //#param Type of the running value.
const PRODUCT = false; //#param Products instead of sums.
const REVERSE = false; //#param Lines are walked backwards.
const EXCLUSIVE = false; //#param Leave the element itself out of its result.
const INIT = false; //#param The running value starts at what a second input says.
const HALF = false; //#param Elements are f16, which are computed with in f32.
const WORKGROUP = 256u; //#let 256
const TILE = 1024u; //#let 1024
const TWICE = 512u; //#let 512
const END = 0u; //#let 0
const LAST = 255u; //#let 255
const l = 0u; //#index
const d = 1u; //#index
const a = 0u; //#index
const b = 256u; //#index

fn load(x: f32) -> f32 { return x; } //#inline !HALF
//: fn load(x: f16) -> f32 { return f32(x); } //#inline
fn store(x: f32) -> f32 { return x; } //#inline !HALF
//: fn store(x: f32) -> f16 { return f16(x); } //#inline
//: fn fold(a: f32, b: f32) -> f32 { return a * b; } //#inline PRODUCT
fn fold(a: f32, b: f32) -> f32 { return a + b; } //#inline
//: fn identity() -> f32 { return Acc(1); } //#inline PRODUCT
fn identity() -> f32 { return Acc(0); } //#inline
// The place in memory of the element k in walking order. Reverse scans walk a chunk backwards within itself.
//: fn place(base: u32, first: u32, last: u32, k: u32) -> u32 { return base + first + (last - 1u - k); } //#inline REVERSE
fn place(base: u32, first: u32, last: u32, k: u32) -> u32 { return base + k; } //#inline

@group(0) @binding(0) var<storage, read> x: array<From>;
//: @group(0) @binding(1) var<storage, read> start: array<Acc>; //#if INIT
@group(0) @binding(2) var<storage, read_write> y: array<From>;
struct Params {
  groups: u32,
  length: u32,
  chunks: u32,
  chunk: u32,
}
@group(0) @binding(3) var<uniform> p: Params;
var<workgroup> shared_: array<Acc, TWICE>;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let g = wid.x + wid.y * nwg.x;
  if (g >= p.groups) { return; }
  let base = (g / p.chunks) * p.length;
  let first = (g % p.chunks) * p.chunk;
  let last = min(first + p.chunk, p.length);
  //: var carry = start[g]; //#if INIT
  var carry = identity(); //#if !INIT
  for (var t = first; t < last; t += TILE) {
    let k0 = t + lidx * 4u;
    //#for l in 0..4
    var v_l = identity();
    if (k0 + l < last) { v_l = load(x[place(base, first, last, k0 + l)]); }
    //#end
    let s1 = v_l; //#alone
    //: let s1 = fold(v_0, v_1);
    //: let s2 = fold(s1, v_2);
    //: shared_[lidx] = fold(s2, v_3);
    workgroupBarrier();
    //#for d = 1; d < WORKGROUP; d *= 2
    //#let a = log2(d) % 2 * WORKGROUP
    //#let b = WORKGROUP - a
    if (lidx >= d) { shared_[b + lidx] = fold(shared_[a + lidx - d], shared_[a + lidx]); }
    else { shared_[b + lidx] = shared_[a + lidx]; }
    workgroupBarrier();
    //#end
    var before = carry;
    if (lidx > 0u) { before = fold(carry, shared_[END + lidx - 1u]); }
    carry = fold(carry, shared_[LAST]);
    workgroupBarrier();
    let e_l = before; //#alone
    //: let e_0 = before;
    //: let e_1 = fold(before, v_0);
    //: let e_2 = fold(before, s1);
    //: let e_3 = fold(before, s2);
    //: if (k0 + l < last) { y[place(base, first, last, k0 + l)] = store(e_l); } //#for l in 0..EXCLUSIVE ? 4 : 0
    if (k0 + l < last) { y[place(base, first, last, k0 + l)] = store(fold(e_l, v_l)); } //#for l in 0..EXCLUSIVE ? 0 : 4
  }
}
