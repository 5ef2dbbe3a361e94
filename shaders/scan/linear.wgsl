// The linear recurrence s[i] = b[i] + c[i] * s[i - 1] along an axis, an invocation for each line.

alias Element = f32; //#param Type of the elements.
const REVERSE = false; //#param Lines are walked backwards.
const SHIFT = false; //#param The factor is that of the element before.
const HALF = false; //#param Elements are f16, which are computed with in f32.
const WORKGROUP = 64u; //#param Invocations of a workgroup.

fn load(x: f32) -> f32 { return x; } //#inline !HALF
//: fn load(x: f16) -> f32 { return f32(x); } //#inline
fn store(x: f32) -> f32 { return x; } //#inline !HALF
//: fn store(x: f32) -> f16 { return f16(x); } //#inline
fn factor_at(k: u32) -> u32 { return k; } //#inline !SHIFT
//: fn factor_at(k: u32) -> u32 { return k + p.inner; } //#inline REVERSE
//: fn factor_at(k: u32) -> u32 { return k - p.inner; } //#inline

@group(0) @binding(0) var<storage, read> factors: array<Element>;
@group(0) @binding(1) var<storage, read> terms: array<Element>;
@group(0) @binding(2) var<storage, read_write> result: array<Element>;
struct Params {
  n: u32,
  inner: u32,
  length: u32,
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
  //: var k = (t / p.inner) * p.length * p.inner + t % p.inner + (p.length - 1u) * p.inner; //#if REVERSE
  var k = (t / p.inner) * p.length * p.inner + t % p.inner; //#if !REVERSE
  var s = load(terms[k]);
  result[k] = store(s);
  for (var l = 1u; l < p.length; l += 1u) {
    //: k = k - p.inner; //#if REVERSE
    k = k + p.inner; //#if !REVERSE
    s = load(terms[k]) + load(factors[factor_at(k)]) * s;
    result[k] = store(s);
  }
}
