// Binary search: how many elements of a sorted row lie before each value, or, where UPPER, do not lie behind it.

alias Element = f32; //#param Type of the elements.
const UPPER = false; //#param Equal elements count too.
const WORKGROUP = 64u; //#let 64

//: fn before(x: f32, v: f32) -> bool { return x <= v; } //#inline UPPER
fn before(x: f32, v: f32) -> bool { return x < v; } //#inline

@group(0) @binding(0) var<storage, read> sorted: array<Element>;
@group(0) @binding(1) var<storage, read> values: array<Element>;
@group(0) @binding(2) var<storage, read_write> places: array<i32>;
struct Params {
  n: u32,
  columns: u32,
  k: u32,
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
  let base = (t / p.k) * p.columns;
  let v = values[t];
  var low = 0u;
  var high = p.columns;
  while (low < high) {
    let middle = (low + high) / 2u;
    if (before(sorted[base + middle], v)) { low = middle + 1u; } else { high = middle; }
  }
  places[t] = i32(low);
}
