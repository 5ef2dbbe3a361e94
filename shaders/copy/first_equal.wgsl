// For each number the place of the first that equals it.

const WORKGROUP = 256u; //#let 256

@group(0) @binding(0) var<storage, read> numbers: array<i32>;
@group(0) @binding(1) var<storage, read_write> places: array<i32>;
struct Params {
  n: u32,
}
@group(0) @binding(2) var<uniform> p: Params;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let id = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (id >= p.n) { return; }
  let mine = numbers[id];
  var j = 0u;
  while (j < id && numbers[j] != mine) { j++; }
  places[id] = i32(j);
}
