// A reduction along an axis, `[outer, rows, columns]` to `[outer, parts, columns]`: an invocation for each (partial) result, for columns
// and for software adapters. Each takes WIDTH neighbours at once where it can: along the inner axis, so that it makes as many results,
// or along the reduced one. Parts lie interleaved in stripes, so that neighbouring invocations read neighbouring elements.

//#include eights.wgsl
alias In = vec4<f32>; //#param Type of what is loaded at once.
alias Out = vec4<f32>; //#param Type of what is stored at once.
alias To = f32; //#param Type of one stored element.
alias Acc = f32; //#param Type of one accumulator's lane.
alias V = vec4<f32>; //#param Type of the accumulators.
alias Bits = vec4<u32>; //#param The bits of one.
const COMBINE = 0; //#param Combination of two values: 0 sum, 1 product, 2 maximum, 3 minimum.
const IDENTITY = 0.0; //#text The result of nothing.
const INNER = true; //#param Neighbours along the inner axis are taken together.
const ALONG = false; //#param Neighbours along the reduced axis are taken together.
const EIGHTS = false; //#param Eight elements are loaded at once, as two fours.
const HALF_FROM = false; //#param The elements read are f16; they are computed in f32.
const HALF_TO = false; //#param The elements stored are f16.
const COMPUTED = false; //#param Elements are computed by `load_`, not read.
const DIVIDED = false; //#param Results are divided by p.count.
const FINISHED = false; //#param Results go through an epilogue.
const WORKGROUP = 64u; //#param Invocations of a workgroup.
// Extremes lose NaN on the way, and what they lose is found by the greatest bits: cheaper than a look at each result.
const LOSES = false; //#let Acc == "f32" && COMBINE > 1
const HALVES = 1; //#let EIGHTS ? 2 : 1
const load = 0u; //#index
const h = 0u; //#index
const n = 0u; //#index

fn fold(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> { return a + b; } //#inline COMBINE == 0
//: fn fold(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> { return a * b; } //#inline COMBINE == 1
//: fn fold(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> { return max(a, b); } //#inline COMBINE == 2
//: fn fold(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> { return min(a, b); } //#inline
//: fn fold_lanes(a: f32, b: f32) -> f32 { return extreme1_(a, b); } //#inline LOSES
//: fn fold_lanes(a: f32, b: f32) -> f32 { return fold(a, b); } //#inline
//: fn element(at: u32) -> vec4<u64> { return in0[at]; } //#inline EIGHTS
//: fn element(at: u32) -> vec4<f32> { return load_(at); } //#inline COMPUTED
fn element(at: u32) -> vec4<f32> { return in0[at]; } //#inline !HALF_FROM
//: fn element(at: u32) -> vec4<f32> { return V(in0[at]); } //#inline
// What the bits say was lost comes back.
//: fn kept(x: vec4<f32>, bits: vec4<u32>) -> vec4<f32> { return keep_(x, bits); } //#inline LOSES
fn kept(x: vec4<f32>, bits: vec4<u32>) -> vec4<f32> { return x; } //#inline
//: fn total(all: vec4<f32>) -> f32 { return fold_lanes(fold_lanes(all.x, all.y), fold_lanes(all.z, all.w)); } //#inline ALONG
fn total(all: vec4<f32>) -> vec4<f32> { return all; } //#inline
//: fn divided(x: vec4<f32>) -> vec4<f32> { return x / p.count; } //#inline DIVIDED
fn divided(x: vec4<f32>) -> vec4<f32> { return x; } //#inline
//: fn stored(x: vec4<f32>, at: u32) -> vec4<f32> { return finish(divided(x), at, 0u); } //#inline FINISHED
fn stored(x: vec4<f32>, at: u32) -> vec4<f32> { return divided(x); } //#inline !HALF_TO
//: fn stored(x: vec4<f32>, at: u32) -> vec4<f16> { return Out(divided(x)); } //#inline

@group(0) @binding(0) var<storage, read> in0: array<In>; //#if !COMPUTED
@group(0) @binding(1) var<storage, read_write> out0: array<Out>;
struct Params {
  n: u32,
  columns: u32,
  rows: u32,
  parts: u32,
  stripe: u32,
  chunk: u32,
  count: f32,
}
@group(0) @binding(2) var<uniform> p: Params;

//#slot helpers Functions of shaders/scalar.wgsl that the texts call.
//#end
//#if LOSES && ALONG
//#include reduce/extremes.wgsl one
//#end
//#slot source Declares `load_`, which computes elements.
//#end
//#slot finish The epilogue, as a function that gives what is stored for a result.
//#end
//#if LOSES
// Values, or the NaN whose bits were the greatest.
fn keep_(x: V, bits: Bits) -> V {
  return select(x, bitcast<V>(bits), bits > Bits(0x7f800000u));
}
//#end

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let i = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (i >= p.n) { return; }
  let c = i % p.columns;
  let q = i / p.columns;
  let part = q % p.parts;
  let o = q / p.parts;
  let step = p.stripe * p.columns;
  let run = part / p.stripe;
  let first = run * p.chunk + part % p.stripe;
  let last = min((run + 1u) * p.chunk, p.rows);
  var k = (o * p.rows + first) * p.columns + c;
  var left = select(0u, (last - first + p.stripe - 1u) / p.stripe, last > first);
  // Four accumulators go round; of eight elements the even four go to one and the odd four to the next.
  let id = V(IDENTITY);
  var a_0 = id;
  var a_1 = id;
  var a_2 = id;
  var a_3 = id;
  var b_0 = Bits(0u); var b_1 = b_0; //#if LOSES
  // Four loads an iteration, then what is left one by one.
  //#for count = 4; count >= 1; count -= 3
  for (; left >= 4u; left -= 4u) { //#if count == 4
  //: for (; left > 0u; left -= 1u) { //#if count == 1
    //#for load in 0..count
    let v_load = element(k); //#if load == 0
    //: let v_load = element(k + step); //#if load == 1
    //: let v_load = element(k + load * step); //#if load > 1
    //#for h in 0..HALVES
    //#let n = (load * HALVES + h) % 4
    //#let b = n % 2
    //#if LOSES
    //: let x_load_h = v_load; //#if !EIGHTS
    //: let x_load_h = low(v_load); //#if EIGHTS && h == 0
    //: let x_load_h = high(v_load); //#if EIGHTS && h == 1
    //: a_n = fold(a_n, x_load_h);
    //: b_b = max(b_b, bitcast<Bits>(x_load_h) & Bits(0x7fffffffu));
    //#else
    //: a_n = fold(a_n, v_load); //#if !EIGHTS
    //: a_n = fold(a_n, low(v_load)); //#if EIGHTS && h == 0
    //: a_n = fold(a_n, high(v_load)); //#if EIGHTS && h == 1
    a_0 = fold(a_0, v_load); //#alone
    //#end
    //#end
    //#end
    k += 4u * step; //#if count == 4
    //: k += step; //#if count == 1
  }
  //#end
  //#if INNER && EIGHTS
  //: out0[i] = join(stored(kept(fold(a_0, a_2), b_0), i), stored(kept(fold(a_1, a_3), b_1), i));
  //#else
  let all = kept(fold(fold(a_0, a_1), fold(a_2, a_3)), max(b_0, b_1));
  out0[i] = stored(total(all), i);
  //#end
}
