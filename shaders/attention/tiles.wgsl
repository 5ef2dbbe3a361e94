// Attention without workgroup memory: an invocation keeps ROWS query rows with their results in registers and walks over the keys a tile
// of KEYS at a time. Where SHARES, each key is loaded once by the lanes of a subgroup together and handed round, since it is the
// loads that cost; else each lane loads it. Workgroups are blocks of queries, of heads, of batches.

const VECTORS = 1u; //#param Vectors of four that make up the depth.
const CAUSAL = false; //#param A query sees only keys up to its own place.
const SUMS = false; //#param Keeps the greatest score of each row, and behind them the inverse of each sum of exponentials.
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
const w = 0u; //#index
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
//: @group(0) @binding(5) var<storage, read_write> sums: array<f32>; //#if SUMS
struct Params {
  groups: u32, d1: u32, d2: u32,
  q: u32, q0: u32, q1: u32, q2: u32,
  k: u32, k0: u32, k1: u32, k2: u32,
  v: u32, v0: u32, v1: u32, v2: u32,
  o: u32, o0: u32, o1: u32, o2: u32,
  qr: u32, kr: u32, vr: u32, or: u32,
  blocks: u32, queries: u32, keys: u32,
  scale: f32,
}
@group(0) @binding(4) var<uniform> p: Params;

//#slot score The functions of a score and of a weight.
fn score(x: f32, t: u32, k: u32, a: u32, b: u32, c: u32) -> f32 { return x; }
fn weigh(x: f32, t: u32, k: u32, a: u32, b: u32, c: u32) -> f32 { return x; }
//#end

@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let group = wid.x + wid.y * nwg.x;
  if (group >= p.groups) { return; }
  let t0 = (group % p.blocks) * SPAN;
  let z = group / p.blocks;
  let a = 0u; let b = 0u; let c = 0u; let q0 = 0u; let k0 = 0u; let v0 = 0u; let o0 = 0u; //#include attention/form.wgsl begin
  // The last query sees all keys, as it does where the keys of earlier calls are kept.
  let extra = p.keys - p.queries;
  //#if SHARES
  //#for w in 0..PARTS
  //#let begin = w * LANES
  //: let own_w = min(lidx + begin, LAST);
  //#end
  //#end
  //#for i in 0..ROWS
  //#let begin = i * LANES
  let t_i = t0 + begin + lidx;
  let at_i = q0 + place(t_i) * p.qr;
  //: let seen_i = t_i + extra; //#if CAUSAL
  let q_i_j = query[at_i + j] * p.scale; //#for j in 0..VECTORS
  var o_i_j = vec4<f32>(0.0); //#for j in 0..VECTORS
  var top_i = -3.4028234e38;
  var total_i = 0.0;
  //#end
  // No query of the workgroup sees more.
  //: let end = min(p.keys, t0 + SPAN + extra); //#if CAUSAL
  let end = p.keys; //#if !CAUSAL
  for (var n = 0u; n < end; n += KEYS) {
    //#for k in 0..KEYS
    let n_k = n; //#if k == 0
    //: let n_k = min(n + k, p.keys - 1u); //#if k > 0
    let k_k = k0 + n_k * p.kr;
    let v_k = v0 + n_k * p.vr;
    //#end
    //#if SHARES
    //: let x_k_w = keys[k_k + own_w]; //#for k in 0..KEYS, w in 0..PARTS
    //#end
    var s_i_k = 0.0; //#for k in 0..KEYS, i in 0..ROWS
    //#for k in 0..KEYS, j in 0..VECTORS
    //#let w = floor(j / LANES)
    //#let giver = j % LANES
    //: let a_k_j = subgroupBroadcast(x_k_w, giver); //#if SHARES
    let a_k_j = keys[k_k + j]; //#if !SHARES
    s_i_k += q_i_j[l] * a_k_j[l]; //#for l in 0..4, i in 0..ROWS
    //#end
    //#if SHARES
    //: let y_k_w = values[v_k + own_w]; //#for k in 0..KEYS, w in 0..PARTS
    //#end
    // Weights of the tile's keys, and the factor that brings older weights to the new maximum.
    //#for i in 0..ROWS
    s_i_k = score(s_i_k, place(t_i), n_k, a, b, c); //#for k in 0..KEYS
    //#if CAUSAL || KEYS > 1
    //: s_i_k = select(-3.4028234e38, s_i_k, n + k <= last_seen(seen_i)); //#for k in 0..KEYS
    //#end
    let new_i = max(top_i, s_i_k); //#for k in 0..KEYS == 1 ? 1 : 0
    //: let new_i = max(max(max(max(top_i, s_i_0), s_i_1), s_i_2), s_i_3); //#if KEYS == 4
    let shrink_i = exp(top_i - new_i);
    top_i = new_i;
    //#if CAUSAL || KEYS > 1
    //: let e_i_k = select(0.0, exp(s_i_k - new_i), n + k <= last_seen(seen_i)); //#for k in 0..KEYS
    //#else
    let e_i_k = exp(s_i_k - new_i); //#for k in 0..KEYS
    //#end
    total_i = total_i * shrink_i + (
      e_i_k //#for k in 0..KEYS sep +
    );
    let w_i_k = weigh(e_i_k, place(t_i), n_k, a, b, c); //#for k in 0..KEYS
    //#end
    //#for j in 0..VECTORS
    //#for k in 0..KEYS
    //#let w = floor(j / LANES)
    //#let giver = j % LANES
    //: let b_k_j = subgroupBroadcast(y_k_w, giver); //#if SHARES
    let b_k_j = values[v_k + j]; //#if !SHARES
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
    //#if SUMS
    //: let r_i = z * p.queries + t_i;
    //: sums[r_i] = top_i;
    //: sums[r_i + p.groups / p.blocks * p.queries] = norm_i;
    //#end
    result[o0 + t_i * p.or + j] = o_i_j * norm_i; //#for j in 0..VECTORS
  } //#if RAGGED
  //#end
}
