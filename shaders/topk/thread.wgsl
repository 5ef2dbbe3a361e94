// The K greatest elements of short rows: an invocation for each row looks through it once for each result, for the greatest key that
// comes after the one before.

alias Element = f32; //#param Type of the elements.
const HALF = false; //#param Elements are f16.
const WORKGROUP = 64u; //#param Invocations of a workgroup.

fn load(x: f32) -> f32 { return x; } //#inline !HALF
//: fn load(x: f16) -> f32 { return f32(x); } //#inline
// Of equal keys the one in front comes first.
fn comes_before(ka: u32, ia: u32, kb: u32, ib: u32) -> bool { return (ka > kb) | ((ka == kb) & (ia < ib)); } //#inline

@group(0) @binding(0) var<storage, read> x: array<Element>;
@group(0) @binding(1) var<storage, read_write> values: array<Element>;
@group(0) @binding(2) var<storage, read_write> indices: array<i32>;
struct Params {
  rows: u32,
  columns: u32,
  k: u32,
}
@group(0) @binding(3) var<uniform> p: Params;

//#slot key A function that gives keys in the order of the elements.
fn key_(v: f32) -> u32 { return u32(v); }
//#end

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let row = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (row >= p.rows) { return; }
  let base = row * p.columns;
  var lastKey = 0xffffffffu;
  var lastAt = 0u;
  for (var j = 0u; j < p.k; j += 1u) {
    var best = 0u;
    var at = 0xffffffffu;
    for (var c = 0u; c < p.columns; c += 1u) {
      let key = key_(load(x[base + c]));
      let open = (j == 0u) | comes_before(lastKey, lastAt, key, c);
      if (open && comes_before(key, c, best, at)) { best = key; at = c; }
    }
    lastKey = best;
    lastAt = at;
    values[row * p.k + j] = x[base + at];
    indices[row * p.k + j] = i32(at);
  }
}
