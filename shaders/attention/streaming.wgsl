// Attention over `[batch, time, heads, depth]` in one pass over the keys, for hardware GPUs: each invocation keeps one query row, its
// running maximum, sum and result in registers, so that the matrix of scores never exists. Whenever a score exceeds the maximum, what
// was summed so far shrinks by the difference ("online softmax").

const VECTORS = 1u; //#param Vectors of four that make up the depth.
const CAUSAL = false; //#param A query sees only keys up to its own place.
const j = 0u; //#index

@group(0) @binding(0) var<storage, read> query: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> keys: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> values: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> result: array<vec4<f32>>;
struct Params {
  rows: u32,
  queries: u32,
  keys: u32,
  heads: u32,
  scale: f32,
}
@group(0) @binding(4) var<uniform> p: Params;

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let row = (wid.x + wid.y * nwg.x) * 64u + lidx;
  if (row >= p.rows) { return; }
  // Neighbouring invocations take neighbouring queries of one head, so that they read the same keys.
  let t = row % p.queries;
  let bh = row / p.queries;
  let h = bh % p.heads;
  let b = bh / p.heads;
  let at = ((b * p.queries + t) * p.heads + h) * VECTORS;
  let q_j = query[at + j] * p.scale; //#for j in 0..VECTORS
  var o_j = vec4<f32>(0.0); //#for j in 0..VECTORS
  var top = -3.0e38;
  var total = 0.0;
  let step = p.heads * VECTORS;
  var k = (b * p.keys * p.heads + h) * VECTORS;
  // The last query sees all keys, as it does where the keys of earlier calls are kept.
  //: let end = u32(max(0, min(i32(p.keys), i32(t) + 1 + i32(p.keys) - i32(p.queries)))); //#if CAUSAL
  let end = p.keys; //#if !CAUSAL
  for (var n = 0u; n < end; n = n + 1u) {
    let s =
      dot(q_j, keys[k + j]) //#for j in 0..VECTORS sep +
    ;
    if (s > top) {
      let shrink = exp(top - s);
      total = total * shrink;
      o_j = o_j * shrink; //#for j in 0..VECTORS
      top = s;
    }
    let w = exp(s - top);
    total = total + w;
    o_j = o_j + w * values[k + j]; //#for j in 0..VECTORS
    k = k + step;
  }
  let norm = select(0.0, 1.0 / total, total > 0.0);
  result[at + j] = o_j * norm; //#for j in 0..VECTORS
}
