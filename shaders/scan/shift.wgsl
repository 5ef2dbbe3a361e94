// A shift by whole places along an axis; zeros come in.

alias Element = f32; //#param Type of the elements.
const FORWARD = true; //#param Elements move to greater indices.
const WORKGROUP = 64u; //#let 64

@group(0) @binding(0) var<storage, read> x: array<Element>;
@group(0) @binding(1) var<storage, read_write> y: array<Element>;
struct Params {
  n: u32,
  inner: u32,
  length: u32,
  by: u32,
}
@group(0) @binding(2) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let t = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (t >= p.n) { return; }
  let l = (t / p.inner) % p.length;
  var v = Element(0);
  if (l >= p.by) { v = x[t - p.by * p.inner]; } //#if FORWARD
  //: if (l + p.by < p.length) { v = x[t + p.by * p.inner]; } //#if !FORWARD
  y[t] = v;
}
