// Transposes through blocks of 4 x 4 in registers, for software adapters, where extents and strides are multiples of four.

alias Four = vec4<u32>; //#param Type of four elements.
const WORKGROUP = 256u; //#let 256
const k = 0u; //#lane

@group(0) @binding(0) var<storage, read> x: array<Four>;
@group(0) @binding(1) var<storage, read_write> y: array<Four>;
struct Params {
  n: u32,
  down: u32,
  across: u32,
  base: u32,
  batch_stride: u32,
  stride: u32,
}
@group(0) @binding(2) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let i = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (i >= p.n) { return; }
  let line = i / p.across;
  let c = i - line * p.across;
  let b = line / p.down;
  let r = line - b * p.down;
  let source = p.base + b * p.batch_stride + r + c * 4u * p.stride;
  let v0 = x[source];
  let v1 = x[source + p.stride];
  let v2 = x[source + 2u * p.stride];
  let v3 = x[source + 3u * p.stride];
  let to = line * 4u * p.across + c;
  y[to + k * p.across] = Four(v0[k], v1[k], v2[k], v3[k]); //#for k in 0..4
}
