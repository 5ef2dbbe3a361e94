// All steps of a recurrent network, a workgroup for each row of the batch: the states and the sums of the gates of a step lie in
// workgroup memory.

const UNITS = 64u; //#param Units.
const GATES = 4u; //#param Gates of a unit.
const REVERSE = false; //#param From the last step to the first.
const LSTM = true; //#param Gates i, o, f and c; a state of the cells.
const GRU = false; //#param Gates z, r and h, the reset before the product.
const AFTER = false; //#param The same, the reset after the product.
const RELU = false; //#param A plain cell's activation.
const SIGMOID = false; //#param The same.
const WORKGROUP = 256u; //#param Invocations of a workgroup.
const TOTAL = 256u; //#let GATES * UNITS
const EARLY = 256u; //#let GRU ? 2 * UNITS : GATES * UNITS
const RESET = 1u; //#let GRU ? UNITS : 1
const CELLS = 64u; //#let LSTM ? UNITS : 1

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read> start: array<f32>;
// The first states of the cells, or the bias within the reset.
@group(0) @binding(3) var<storage, read> more: array<f32>; //#if LSTM || AFTER
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
@group(0) @binding(5) var<storage, read_write> last: array<f32>;
@group(0) @binding(6) var<storage, read_write> last_cells: array<f32>; //#if LSTM
struct Params {
  rows: u32,
  steps: u32,
}
@group(0) @binding(7) var<uniform> p: Params;

var<workgroup> h: array<f32, UNITS>;
var<workgroup> c: array<f32, CELLS>; //#if LSTM
//: var<workgroup> reset: array<f32, RESET>; //#if GRU
var<workgroup> sums: array<f32, TOTAL>;

//#slot functions Those of shaders/scalar.wgsl that compute exponentials.
fn exp_(v: f32) -> f32 { return exp(v); }
fn tanh_(v: f32) -> f32 { return tanh(v); }
//#end

fn logistic(v: f32) -> f32 { return 1.0 / (1.0 + exp_(-v)); }

//: fn activated(v: f32) -> f32 { return select(v, 0.0, v < 0.0); } //#if RELU
//: fn activated(v: f32) -> f32 { return logistic(v); } //#if SIGMOID

fn product(n: u32) -> f32 {
  var sum = 0.0;
  for (var k = 0u; k < UNITS; k += 1u) { sum += weights[n * UNITS + k] * h[k]; }
  return sum;
}

//: fn product_of_reset(n: u32) -> f32 { //#if GRU
//:   var sum = 0.0; //#if GRU
//:   for (var k = 0u; k < UNITS; k += 1u) { sum += weights[n * UNITS + k] * reset[k]; } //#if GRU
//:   return sum; //#if GRU
//: } //#if GRU

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let row = wid.x + wid.y * nwg.x;
  if (row >= p.rows) { return; }
  for (var j = lidx; j < UNITS; j += WORKGROUP) {
    h[j] = start[row * UNITS + j];
    c[j] = more[row * UNITS + j]; //#if LSTM
  }
  workgroupBarrier();
  for (var s = 0u; s < p.steps; s += 1u) {
    //: let t = p.steps - 1u - s; //#if REVERSE
    let t = s; //#if !REVERSE
    let base = (t * p.rows + row) * TOTAL;
    for (var n = lidx; n < EARLY; n += WORKGROUP) {
      //: if (n < 2u * UNITS) { sums[n] = x[base + n] + product(n); } else { sums[n] = more[n - 2u * UNITS] + product(n); } //#if AFTER
      sums[n] = x[base + n] + product(n); //#if !AFTER
    }
    workgroupBarrier();
    //: for (var j = lidx; j < UNITS; j += WORKGROUP) { reset[j] = logistic(sums[UNITS + j]) * h[j]; } //#if GRU
    //: workgroupBarrier(); //#if GRU
    for (var j = lidx; j < UNITS; j += WORKGROUP) {
      //#if LSTM
      let cell = logistic(sums[2u * UNITS + j]) * c[j] + logistic(sums[j]) * tanh_(sums[3u * UNITS + j]);
      c[j] = cell;
      let next = logistic(sums[UNITS + j]) * tanh_(cell);
      //#elif AFTER
      //: let z = logistic(sums[j]);
      //: let fresh = tanh_(x[base + 2u * UNITS + j] + logistic(sums[UNITS + j]) * sums[2u * UNITS + j]);
      //: let next = (1.0 - z) * fresh + z * h[j];
      //#elif GRU
      //: let z = logistic(sums[j]);
      //: let fresh = tanh_(x[base + 2u * UNITS + j] + product_of_reset(2u * UNITS + j));
      //: let next = (1.0 - z) * fresh + z * h[j];
      //#elif RELU || SIGMOID
      //: let next = activated(sums[j]);
      //#else
      //: let next = tanh_(sums[j]);
      //#end
      h[j] = next;
      y[(t * p.rows + row) * UNITS + j] = next;
    }
    workgroupBarrier();
  }
  for (var j = lidx; j < UNITS; j += WORKGROUP) {
    last[row * UNITS + j] = h[j];
    last_cells[row * UNITS + j] = c[j]; //#if LSTM
  }
}
