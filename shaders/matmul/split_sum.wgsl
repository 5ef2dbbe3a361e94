// Adds up the parts of sums that several workgroups computed: `[batch, splits, size]` becomes `[batch, size]`.

alias Part = vec4<f32>; //#param Type of a part, or of four neighbouring ones.
alias C = vec4<f32>; //#param Type of what is stored at once.

@group(0) @binding(0) var<storage, read> parts: array<Part>;
@group(0) @binding(1) var<storage, read_write> c: array<C>;
struct Params {
  total: u32,
  size: u32,
  columns: u32,
  splits: u32,
}
@group(0) @binding(2) var<uniform> p: Params;

//#slot finish The epilogue, as a function that gives what is stored for a sum.
fn finish(v: Part, at: u32, column: u32) -> C { return v; }
//#end

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let i = (wid.x + wid.y * nwg.x) * 64u + lidx;
  if (i >= p.total) { return; }
  let z = i / p.size; let e = i - z * p.size;
  var at = z * p.splits * p.size + e;
  var sum = Part();
  for (var s = 0u; s < p.splits; s++) { sum += parts[at]; at += p.size; }
  c[i] = finish(sum, i, e % p.columns);
}
