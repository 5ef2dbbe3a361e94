// How products normalize the rows of A on their way in: each workgroup finds mean and deviation of a few rows itself, which costs less
// than a dispatch. Scale and offset, an element for each column of A, are bound behind A and B.

alias A = vec4<f32>; //#param Type of A's elements, or of four of them.
const WIDE_A = true; //#param A is read four at a time.
const HALF = false; //#param Elements are f16, which are computed with in f32.
const ADD = 0; //#param Adds the parts of a row: 0 each invocation has all of it, 1 in a subgroup, 2 in a workgroup.
const LANES_OF_ROW = 1u; //#param Invocations that share a row; a power of two.
const THREADS_OF_ROW = 64u; //#let max(1, LANES_OF_ROW)

fn load_x(x: vec4<f32>) -> vec4<f32> { return x; } //#inline !HALF
//: fn load_x(x: vec4<f16>) -> vec4<f32> { return vec4<f32>(x); } //#inline WIDE_A
//: fn load_x(x: f16) -> f32 { return f32(x); } //#inline
fn four_of(x: vec4<f32>) -> f32 { return dot(x, vec4<f32>(1.0)); } //#inline WIDE_A
//: fn four_of(x: f32) -> f32 { return x; } //#inline
fn count_of(k: u32) -> f32 { return f32(k * 4u); } //#inline WIDE_A
//: fn count_of(k: u32) -> f32 { return f32(k); } //#inline

@group(0) @binding(0) var<storage, read> in0: array<A>;
@group(0) @binding(1) var<storage, read> in2: array<A>;
@group(0) @binding(2) var<storage, read> in3: array<A>;
struct Params { epsilon: f32 }
@group(0) @binding(3) var<uniform> p: Params;

//#piece functions
//: var<workgroup> held: array<f32, THREADS_OF_ROW>; //#if ADD == 2
fn whole(x: f32, lidx: u32) -> f32 {
  //#if ADD == 2
  //: held[lidx] = x;
  //: workgroupBarrier();
  //: for (var half = THREADS_OF_ROW / 2u; half > 0u; half /= 2u) {
  //:   if (lidx < half) { held[lidx] += held[lidx + half]; }
  //:   workgroupBarrier();
  //: }
  //: let sum = held[0];
  //: workgroupBarrier();
  //: return sum;
  //#elif ADD == 1
  //: return subgroupAdd(x);
  //#else
  return x;
  //#end
}

// Returns the mean of the row that begins at `at`, what rounding left of it, and one over the deviation.
fn statistics(at: u32, k: u32, lidx: u32) -> vec3<f32> {
  var total = 0.0;
  for (var c = lidx % THREADS_OF_ROW; c < k; c += THREADS_OF_ROW) { total += four_of(load_x(in0[at + c])); }
  let mean = whole(total, lidx) / count_of(k);
  var rest = 0.0;
  var square = 0.0;
  for (var c = lidx % THREADS_OF_ROW; c < k; c += THREADS_OF_ROW) {
    let d = load_x(in0[at + c]) - mean;
    rest += four_of(d);
    square += four_of(d * d);
  }
  let left = whole(rest, lidx) / count_of(k);
  let variance = whole(square, lidx) / count_of(k) - left * left;
  return vec3<f32>(mean, left, inverseSqrt(max(variance, 0.0) + p.epsilon));
}
//#end
