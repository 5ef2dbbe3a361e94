// The frame of pointwise kernels: an invocation computes one element of each result, or four or eight neighbours. Everything else
// depends on the expressions, which src/engine/core/scalar/wgsl.ts prints, and on how their operands are broadcast.

const WORKGROUP = 256u; //#let 256

@group(0) @binding(0) var<storage, read> in0: array<f32>; //#alone
@group(0) @binding(1) var<storage, read_write> out0: array<f32>; //#alone
struct Params {
  n: u32,
}
@group(0) @binding(2) var<uniform> p: Params;

//#slot helpers Functions of shaders/scalar.wgsl that the expressions call.
//#end

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let i = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (i >= p.n) { return; }
  //#slot elements Loads operands at i and stores what is computed of them.
  out0[i] = max(in0[i], 0.0); //#alone
  //#end
}
