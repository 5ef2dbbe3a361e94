// Eight neighbouring elements of 32 bits in one load, where WGSL has 64-bit integers: four words hold the even elements in their low
// halves and the odd ones in their high halves. Not every compiler has such integers, so that what needs them stands in cases only.

const WORDS = false; //#param Elements are u32, which need no bitcast.
alias Acc = f32; //#param Type in which elements are computed with.

fn low(x: vec4<u32>) -> vec4<u32> { return vec4<u32>(x); } //#inline WORDS
//: fn low(x: vec4<u64>) -> vec4<f32> { return bitcast<vec4<Acc>>(vec4<u32>(x)); } //#inline
//: fn high(x: vec4<u64>) -> vec4<u32> { return vec4<u32>(x >> vec4<u32>(32u)); } //#inline WORDS
//: fn high(x: vec4<u64>) -> vec4<f32> { return bitcast<vec4<Acc>>(vec4<u32>(x >> vec4<u32>(32u))); } //#inline
//: fn join(even: vec4<u32>, odd: vec4<u32>) -> vec4<u64> { return vec4<u64>(even) | (vec4<u64>(odd) << vec4<u32>(32u)); } //#inline WORDS
//: fn join(even: vec4<f32>, odd: vec4<f32>) -> vec4<u64> { return vec4<u64>(bitcast<vec4<u32>>(even)) | (vec4<u64>(bitcast<vec4<u32>>(odd)) << vec4<u32>(32u)); } //#inline
