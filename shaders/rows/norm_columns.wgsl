// The gradients of layer normalization's scale and offset: sums over rows for each column, in parts where there are few columns.

alias In = f32; //#param Type of what is read at once.
alias Out = f32; //#param Type of what is stored at once.
alias V = f32; //#param Type of what is computed at once.
const HALF_FROM = false; //#param The elements read are f16; they are computed in f32.
const HALF_TO = false; //#param The elements stored are f16.
const WORKGROUP = 64u; //#param Invocations of a workgroup.

fn load(x: f32) -> f32 { return x; } //#inline !HALF_FROM
//: fn load(x: f16) -> f32 { return V(x); } //#inline
fn store(x: f32) -> f32 { return x; } //#inline !HALF_TO
//: fn store(x: f32) -> f16 { return Out(x); } //#inline

@group(0) @binding(0) var<storage, read> gradient: array<In>;
@group(0) @binding(1) var<storage, read> x: array<In>;
@group(0) @binding(2) var<storage, read> mean: array<f32>;
@group(0) @binding(3) var<storage, read> deviation: array<f32>;
@group(0) @binding(4) var<storage, read_write> scales: array<Out>;
@group(0) @binding(5) var<storage, read_write> offsets: array<Out>;
struct Params {
  n: u32,
  cols: u32,
  rows: u32,
  parts: u32,
}
@group(0) @binding(6) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let t = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (t >= p.n) { return; }
  let c = t % p.cols;
  var scale = V(0.0);
  var offset = V(0.0);
  for (var r = t / p.cols; r < p.rows; r += p.parts) {
    let at = r * p.cols + c;
    let g = load(gradient[at]);
    // One over the standard deviation is what the rows left.
    scale += g * ((load(x[at]) - mean[r]) * deviation[r]);
    offset += g;
  }
  scales[t] = store(scale);
  offsets[t] = store(offset);
}
