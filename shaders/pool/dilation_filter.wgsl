// Gradient of a dilation's filter: each element collects from the windows in which it won. Inputs are the gradient and the taps taken.

alias In = f32; //#param Type of what is read and stored at once.
alias V = f32; //#param Type of what is computed at once: one element, or four.
alias Index = u32; //#param Type of indices that go with them.
const HALF = false; //#param Elements are f16, which are computed with in f32.
const WORKGROUP = 64u; //#param Invocations of a workgroup.

fn load(x: f32) -> f32 { return x; } //#inline !HALF
//: fn load(x: f16) -> f32 { return V(x); } //#inline
fn store(x: f32) -> f32 { return x; } //#inline !HALF
//: fn store(x: f32) -> f16 { return In(x); } //#inline

@group(0) @binding(0) var<storage, read> in0: array<In>;
@group(0) @binding(1) var<storage, read> in1: array<Index>;
@group(0) @binding(2) var<storage, read_write> out0: array<In>;
struct Params {
  total: u32,
  channels: u32,
  places: u32,
}
@group(0) @binding(3) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let i = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (i >= p.total) { return; }
  let c = i % p.channels; let tap = i / p.channels;
  var sum = V(0);
  for (var place = 0u; place < p.places; place++) {
    let at = place * p.channels + c;
    let g = load(in0[at]);
    sum += select(V(0), g, in1[at] == Index(tap));
  }
  out0[i] = store(sum);
}
