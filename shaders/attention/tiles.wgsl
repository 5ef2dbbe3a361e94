// Attention for software adapters: an invocation keeps ROWS query rows with their results in registers and walks over the keys a tile
// of KEYS at a time. Where SHARES, each key is loaded once by the lanes of a subgroup together and handed round, since it is the
// loads that cost; else each lane loads it. Workgroups are blocks of queries, of heads, of batches.

const VECTORS = 1u; //#param Vectors of four that make up the depth.
const CAUSAL = false; //#param A query sees only keys up to its own place.
const LANES = 8u; //#param Invocations of a workgroup: one subgroup where keys are handed round.
const SHARES = false; //#param The lanes of a subgroup hand keys round.
const ROWS = 1u; //#param Query rows of an invocation.
const RAGGED = true; //#param The last workgroup of a head has more rows than there are queries.
// Loads are in flight together where a step has several keys, but each adds to what must be compiled.
const KEYS = 1u; //#let SHARES ? 4 : 1
const SPAN = 8u; //#let ROWS * LANES
// Where keys are shared, lane l holds the vectors l, l + LANES, ... of each.
const PARTS = 1u; //#let ceil(VECTORS / LANES)
const LAST = 0u; //#let VECTORS - 1
const i = 0u; //#index
const j = 0u; //#index
const k = 0u; //#index
const c = 0u; //#index
const begin = 0u; //#index
const giver = 0u; //#index
const l = 0u; //#lane

fn place(t: u32) -> u32 { return min(t, p.queries - 1u); } //#inline RAGGED
//: fn place(t: u32) -> u32 { return t; } //#inline
// The last key that a row sees. A causal query sees no key past the last one: what is clamped is masked too, but for rows that are
// not stored.
//: fn last_seen(seen: u32) -> u32 { return seen; } //#inline CAUSAL
fn last_seen(seen: u32) -> u32 { return p.keys - 1u; } //#inline

@group(0) @binding(0) var<storage, read> query: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> keys: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> values: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> result: array<vec4<f32>>;
struct Params {
  groups: u32,
  blocks: u32,
  queries: u32,
  keys: u32,
  heads: u32,
  scale: f32,
}
@group(0) @binding(4) var<uniform> p: Params;

@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let group = wid.x + wid.y * nwg.x;
  if (group >= p.groups) { return; }
  let t0 = (group % p.blocks) * SPAN;
  let bh = group / p.blocks;
  let h = bh % p.heads;
  let b = bh / p.heads;
  // The last query sees all keys, as it does where the keys of earlier calls are kept.
  let extra = p.keys - p.queries;
  let step = p.heads * VECTORS;
  let first = (b * p.keys * p.heads + h) * VECTORS;
  //#if SHARES
  //#for c in 0..PARTS
  //#let begin = c * LANES
  //: let own_c = min(lidx + begin, LAST);
  //#end
  //#end
  //#for i in 0..ROWS
  //#let begin = i * LANES
  let t_i = t0 + begin + lidx;
  let at_i = (b * p.queries + place(t_i)) * step + h * VECTORS;
  //: let seen_i = t_i + extra; //#if CAUSAL
  let q_i_j = query[at_i + j] * p.scale; //#for j in 0..VECTORS
  var o_i_j = vec4<f32>(0.0); //#for j in 0..VECTORS
  var top_i = -3.0e38;
  var total_i = 0.0;
  //#end
  // No query of the workgroup sees more.
  //: let end = min(p.keys, t0 + SPAN + extra); //#if CAUSAL
  let end = p.keys; //#if !CAUSAL
  for (var n = 0u; n < end; n += KEYS) {
    //#for k in 0..KEYS
    let k_k = first + n * step; //#if k == 0
    //: let k_k = first + min(n + k, p.keys - 1u) * step; //#if k > 0
    //#end
    //#if SHARES
    //: let x_k_c = keys[k_k + own_c]; //#for k in 0..KEYS, c in 0..PARTS
    //#end
    var s_i_k = 0.0; //#for k in 0..KEYS, i in 0..ROWS
    //#for k in 0..KEYS, j in 0..VECTORS
    //#let c = floor(j / LANES)
    //#let giver = j % LANES
    //: let a_k_j = subgroupBroadcast(x_k_c, giver); //#if SHARES
    let a_k_j = keys[k_k + j]; //#if !SHARES
    s_i_k += q_i_j[l] * a_k_j[l]; //#for l in 0..4, i in 0..ROWS
    //#end
    //#if SHARES
    //: let y_k_c = values[k_k + own_c]; //#for k in 0..KEYS, c in 0..PARTS
    //#end
    // Weights of the tile's keys, and the factor that brings older weights to the new maximum.
    //#for i in 0..ROWS
    //#if CAUSAL || KEYS > 1
    //: s_i_k = select(-3.0e38, s_i_k, n + k <= last_seen(seen_i)); //#for k in 0..KEYS
    //#end
    let new_i = max(top_i, s_i_k); //#for k in 0..KEYS == 1 ? 1 : 0
    //: let new_i = max(max(max(max(top_i, s_i_0), s_i_1), s_i_2), s_i_3); //#if KEYS == 4
    let shrink_i = exp(top_i - new_i);
    top_i = new_i;
    let w_i_k = exp(s_i_k - new_i); //#for k in 0..KEYS
    total_i = total_i * shrink_i + (
      w_i_k //#for k in 0..KEYS sep +
    );
    //#end
    //#for j in 0..VECTORS
    //#for k in 0..KEYS
    //#let c = floor(j / LANES)
    //#let giver = j % LANES
    //: let b_k_j = subgroupBroadcast(y_k_c, giver); //#if SHARES
    let b_k_j = values[k_k + j]; //#if !SHARES
    //#end
    //#for i in 0..ROWS
    o_i_j = o_i_j * shrink_i +
      w_i_k * b_k_j //#for k in 0..KEYS sep +
    ;
    //#end
    //#end
  }
  //#for i in 0..ROWS
  if (t_i < p.queries) { //#if RAGGED
    let norm_i = 1.0 / total_i;
    result[at_i + j] = o_i_j * norm_i; //#for j in 0..VECTORS
  } //#if RAGGED
  //#end
}
