// Words of two float16 become pairs of float32, or back (PACK), by integer arithmetic that rounds alike everywhere.

const PACK = false; //#param From pairs to words.
const WORKGROUP = 64u; //#let 64

@group(0) @binding(0) var<storage, read> in0: array<u32>; //#if !PACK
@group(0) @binding(1) var<storage, read_write> out0: array<vec2<f32>>; //#if !PACK
//: @group(0) @binding(0) var<storage, read> in0: array<vec2<f32>>; //#if PACK
//: @group(0) @binding(1) var<storage, read_write> out0: array<u32>; //#if PACK
struct Params {
  n: u32,
}
@group(0) @binding(2) var<uniform> p: Params;

//#slot helper The function of shaders/scalar.wgsl that converts one.
fn halfvalue_(h: u32) -> f32 { return f32(h); }
//#end

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let i = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (i >= p.n) { return; }
  let x = in0[i];
  out0[i] = vec2(halfvalue_(x & 0xffffu), halfvalue_(x >> 16u)); //#if !PACK
  //: out0[i] = halfbits_(x.x) | (halfbits_(x.y) << 16u); //#if PACK
}
