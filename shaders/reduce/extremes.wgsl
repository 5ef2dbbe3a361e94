// The greater, or the lesser, of two floats where NaN wins: the built-in functions may lose it.

const COMBINE = 2; //#param Combination of two values: 0 sum, 1 product, 2 maximum, 3 minimum.

fn extreme(a: f32, b: f32) -> f32 { return max(a, b); } //#inline COMBINE == 2
//: fn extreme(a: f32, b: f32) -> f32 { return min(a, b); } //#inline

//#piece one
fn isnan1_(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn extreme1_(a: f32, b: f32) -> f32 {
  let m = extreme(a, b);
  return select(select(m, b, isnan1_(b)), a, isnan1_(a));
}
//#end

fn extreme_four(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> { return max(a, b); } //#inline COMBINE == 2
//: fn extreme_four(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> { return min(a, b); } //#inline

//#piece four
fn isnan4_(x: vec4<f32>) -> vec4<bool> { return (bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u); }
fn extreme4_(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
  let m = extreme_four(a, b);
  return select(select(m, b, isnan4_(b)), a, isnan4_(a));
}
//#end
