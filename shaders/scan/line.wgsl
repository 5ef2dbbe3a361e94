// Running sums or products, an invocation for each line, or for each chunk of one. Where TOTAL, only the end of each chunk is written:
// scanned themselves, these are where the chunks start in a second run (INIT).

alias From = f32; //#param Type of what is read.
alias To = f32; //#param Type of what is written.
alias Acc = f32; //#param Type of the running value.
const PRODUCT = false; //#param Products instead of sums.
const REVERSE = false; //#param Lines are walked backwards.
const EXCLUSIVE = false; //#param Leave the element itself out of its result.
const TOTAL = false; //#param Only the end of each chunk is written.
const INIT = false; //#param The running value starts at what a second input says.
const HALF_FROM = false; //#param The elements read are f16; they are computed in f32.
const HALF_TO = false; //#param The elements written are f16.
const WORKGROUP = 64u; //#param Invocations of a workgroup.

fn load(x: f32) -> f32 { return x; } //#inline !HALF_FROM
//: fn load(x: f16) -> f32 { return f32(x); } //#inline
fn store(x: f32) -> f32 { return x; } //#inline !HALF_TO
//: fn store(x: f32) -> f16 { return f16(x); } //#inline
//: fn fold(a: f32, b: f32) -> f32 { return a * b; } //#inline PRODUCT
fn fold(a: f32, b: f32) -> f32 { return a + b; } //#inline
//: fn identity() -> f32 { return Acc(1); } //#inline PRODUCT
fn identity() -> f32 { return Acc(0); } //#inline

@group(0) @binding(0) var<storage, read> x: array<From>;
//: @group(0) @binding(1) var<storage, read> start: array<Acc>; //#if INIT
@group(0) @binding(2) var<storage, read_write> y: array<To>;
struct Params {
  n: u32,
  inner: u32,
  length: u32,
  chunks: u32,
  chunk: u32,
}
@group(0) @binding(3) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let t = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (t >= p.n) { return; }
  let i = t % p.inner;
  let q = t / p.inner;
  let c = q % p.chunks;
  let o = q / p.chunks;
  let first = c * p.chunk;
  let last = min(first + p.chunk, p.length);
  //: var a = start[t]; //#if INIT
  var a = identity(); //#if !INIT
  //: var k = (o * p.length + last - 1u) * p.inner + i; //#if REVERSE
  var k = (o * p.length + first) * p.inner + i; //#if !REVERSE
  for (var l = first; l < last; l += 1u) {
    //#if TOTAL
    //: a = fold(a, load(x[k]));
    //#elif EXCLUSIVE
    //: let v = load(x[k]); y[k] = store(a); a = fold(a, v);
    //#else
    a = fold(a, load(x[k])); y[k] = store(a);
    //#end
    //: k = k - p.inner; //#if REVERSE
    k = k + p.inner; //#if !REVERSE
  }
  //: y[t] = a; //#if TOTAL
}
