// Counts values, or sums their weights, in bins by atomics; negative values and those beyond the last bin are left out. Sums of floats
// go through compare-and-swap.

alias Weight = f32; //#param Type of the bins' numbers.
const BINARY = false; //#param Bins tell only whether there is a value.
const WEIGHTED = false; //#param A second input holds weights.
const FLOATS = true; //#param Bins hold floats.
const WORKGROUP = 64u; //#let 64

fn weight(t: u32) -> f32 { return 1.0; } //#inline !WEIGHTED
//: fn weight(t: u32) -> f32 { return weights[t]; } //#inline

@group(0) @binding(0) var<storage, read> values: array<i32>;
//: @group(0) @binding(1) var<storage, read> weights: array<Weight>; //#if WEIGHTED
@group(0) @binding(2) var<storage, read_write> bins: array<atomic<u32>>;
struct Params {
  n: u32,
  columns: u32,
  bins: u32,
}
@group(0) @binding(3) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let t = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (t >= p.n) { return; }
  let v = values[t];
  if (v < 0 || u32(v) >= p.bins) { return; }
  let bin = (t / p.columns) * p.bins + u32(v);
  //#if BINARY
  //: atomicStore(&bins[bin], bitcast<u32>(Weight(1)));
  //#elif FLOATS
  let w = weight(t);
  var old = atomicLoad(&bins[bin]);
  loop {
    let r = atomicCompareExchangeWeak(&bins[bin], old, bitcast<u32>(bitcast<f32>(old) + w));
    if (r.exchanged) { break; }
    old = r.old_value;
  }
  //#elif WEIGHTED
  //: atomicAdd(&bins[bin], bitcast<u32>(weights[t]));
  //#else
  //: atomicAdd(&bins[bin], 1u);
  //#end
}
