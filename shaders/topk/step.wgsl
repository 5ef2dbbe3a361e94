// One step of a bitonic network over rows in buffers: an invocation for each pair.

const WORKGROUP = 64u; //#param Invocations of a workgroup.

// Of equal keys the one in front comes first.
fn comes_before(ka: u32, ia: u32, kb: u32, ib: u32) -> bool { return (ka > kb) | ((ka == kb) & (ia < ib)); } //#inline

@group(0) @binding(0) var<storage, read_write> keys: array<u32>;
@group(0) @binding(1) var<storage, read_write> indices: array<u32>;
// Pairs lie half apart; size says which runs are sorted which way, 0 where all are sorted one way.
struct Params {
  n: u32,
  size: u32,
  half: u32,
}
@group(0) @binding(2) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let e = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (e >= p.n) { return; }
  let a = (e / p.half) * 2u * p.half + e % p.half;
  let b = a + p.half;
  let falling = (a & p.size) == 0u;
  let ka = keys[a];
  let kb = keys[b];
  let ia = indices[a];
  let ib = indices[b];
  if (comes_before(kb, ib, ka, ia) == falling) {
    keys[a] = kb;
    keys[b] = ka;
    indices[a] = ib;
    indices[b] = ia;
  }
}
