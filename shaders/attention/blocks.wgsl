// Attention for hardware GPUs with many queries: a workgroup takes SPAN queries of one head and walks over the keys a tile of KEYS at a
// time. Queries, a tile of keys or values, and the tile's weights lie in workgroup memory; eight invocations share ROWS queries, each
// with every eighth key of the tile and every eighth vector of the result. Rows of a tile are one vector apart, so that neighbours read
// from different banks. Sums are unrolled: of an element's two indices one is constant and the other the same in all of them, so that
// its place is checked once. Whenever a score exceeds the maximum, what was summed so far shrinks ("online softmax").

const VECTORS = 16u; //#param Vectors of four that make up the depth.
const CAUSAL = false; //#param A query sees only keys up to its own place.
const SUMS = false; //#param Keeps the greatest score of each row, and behind them the inverse of each sum of exponentials.
const ROWS = 2u; //#param Query rows of an invocation.
const KEYS = 32u; //#param Keys of a tile; a multiple of eight.
const THREADS = 128u; //#param Invocations of a workgroup; a multiple of eight.
const TEAMS = 16u; //#let THREADS / 8
const SPAN = 32u; //#let TEAMS * ROWS
const COLUMNS = 4u; //#let KEYS / 8
const OUTS = 2u; //#let ceil(VECTORS / 8)
const RAGGED = false; //#let VECTORS % 8 != 0
const PITCH = 17u; //#let VECTORS + 1
const QUERY_VECTORS = 512u; //#let SPAN * VECTORS
const OWN_VECTORS = 512u; //#let KEYS * VECTORS
const COPIES = 4u; //#let ceil(OWN_VECTORS / THREADS)
alias Weights = vec2<f32>; //#param Type of a key's weights for an invocation's queries.
const i = 0u; //#index
const l = 0u; //#lane
const d = 0u; //#index
const k = 0u; //#index
const j = 0u; //#index
const e = 0u; //#index
const f = 0u; //#index
const x = 0u; //#index
const rest = 0u; //#index

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
var<workgroup> own: array<array<vec4<f32>, PITCH>, SPAN>;
var<workgroup> tile: array<array<vec4<f32>, PITCH>, KEYS>;
var<workgroup> weights: array<array<Weights, TEAMS>, KEYS>;
var<workgroup> shared_: array<array<f32, 8>, SPAN>;

//#slot score The functions of a score and of a weight.
fn score(x: f32, t: u32, k: u32, a: u32, b: u32, c: u32) -> f32 { return x; }
fn weigh(x: f32, t: u32, k: u32, a: u32, b: u32, c: u32) -> f32 { return x; }
//#end

@compute @workgroup_size(THREADS)
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
  let lane = lidx % 8u;
  let team = lidx / 8u;
  let last = p.keys - 1u;
  for (var x = lidx; x < QUERY_VECTORS; x += THREADS) {
    own[x / VECTORS][x % VECTORS] = query[q0 + min(t0 + x / VECTORS, p.queries - 1u) * p.qr + x % VECTORS] * p.scale;
  }
  let t_i = min(t0 + team + i * TEAMS, p.queries - 1u); //#for i in 0..ROWS
  var top_i = -3.4028234e38; //#for i in 0..ROWS
  var total_i = 0.0; //#for i in 0..ROWS
  var o_i_e = vec4<f32>(0.0); //#for i in 0..ROWS, e in 0..OUTS
  // The last query sees all keys, as it does where the keys of earlier calls are kept.
  //: let end = min(p.keys, t0 + SPAN + p.keys - p.queries); //#if CAUSAL
  let end = p.keys; //#if !CAUSAL
  // A tile is on its way from memory while the one before it is computed with.
  //#for f in 0..COPIES
  //#let x = f * THREADS
  let h_f = (lidx + x) / VECTORS; let c_f = (lidx + x) % VECTORS;
  var g_f = keys[k0 + min(h_f, last) * p.kr + c_f];
  //#end
  for (var n = 0u; n < end; n += KEYS) {
    //#for f in 0..COPIES
    //#let rest = OWN_VECTORS - f * THREADS
    if (lidx < rest) { //#if rest < THREADS
    tile[h_f][c_f] = g_f;
    } //#if rest < THREADS
    //#end
    workgroupBarrier();
    g_f = values[v0 + min(n + h_f, last) * p.vr + c_f]; //#for f in 0..COPIES
    var s_i_j = 0.0; //#for i in 0..ROWS, j in 0..COLUMNS
    //#for d in 0..VECTORS
    {
      //#for i in 0..ROWS
      let q_i = own[team + i * TEAMS][d];
      //#end
      //#for j in 0..COLUMNS
      //#let x = j * 8
      let k_j = tile[lane + x][d];
      //#end
      s_i_j += dot(q_i, k_j); //#for i in 0..ROWS, j in 0..COLUMNS
    }
    //#end
    //#for j in 0..COLUMNS
    //#let x = j * 8
    let n_j = n + lane + x;
    let m_j = min(n_j, last);
    //#for i in 0..ROWS
    s_i_j = score(s_i_j, t_i, m_j, a, b, c);
    //: let seen_i_j = n_j <= min(last, t_i + p.keys - p.queries); //#if CAUSAL
    let seen_i_j = n_j <= last; //#if !CAUSAL
    s_i_j = select(-3.4028234e38, s_i_j, seen_i_j);
    //#end
    //#end
    //#for i in 0..ROWS
    let s_i_0 = s_i_j; //#alone
    var high_i = s_i_0;
    high_i = max(high_i, s_i_j); //#for j in 1..COLUMNS
    shared_[team + i * TEAMS][lane] = high_i;
    //#end
    workgroupBarrier();
    //#for i in 0..ROWS
    var new_i = top_i;
    new_i = max(new_i, shared_[team + i * TEAMS][x]); //#for x in 0..8
    let shrink_i = exp(top_i - new_i);
    top_i = new_i;
    total_i *= shrink_i;
    o_i_e *= shrink_i; //#for e in 0..OUTS
    //#for j in 0..COLUMNS
    let w_i_j = select(0.0, exp(s_i_j - new_i), seen_i_j);
    total_i += w_i_j;
    let g_i_j = weigh(w_i_j, t_i, m_j, a, b, c);
    //#end
    //#end
    //#for j in 0..COLUMNS
    //#let x = j * 8
    weights[lane + x][team] = Weights(
      g_i_j //#for i in 0..ROWS sep ,
    );
    //#end
    //#for f in 0..COPIES
    //#let rest = OWN_VECTORS - f * THREADS
    if (lidx < rest) { //#if rest < THREADS
    tile[h_f][c_f] = g_f;
    } //#if rest < THREADS
    //#end
    workgroupBarrier();
    g_f = keys[k0 + min(n + KEYS + h_f, last) * p.kr + c_f]; //#for f in 0..COPIES
    //#for k in 0..KEYS
    {
      let w = weights[k][team];
      //#for e in 0..OUTS
      //#let x = e * 8
      let v_e = tile[k][lane + x]; //#if !RAGGED
      //: let v_e = tile[k][min(lane + x, VECTORS - 1u)]; //#if RAGGED
      //#end
      //#if ROWS > 1
      //#for i in 0..ROWS
      //#let l = i
      o_i_e += w[l] * v_e; //#for e in 0..OUTS
      //#end
      //#else
      //: o_0_e += w * v_e; //#for e in 0..OUTS
      //#end
    }
    //#end
    workgroupBarrier();
  }
  shared_[team + i * TEAMS][lane] = total_i; //#for i in 0..ROWS
  workgroupBarrier();
  //#for i in 0..ROWS
  if (t0 + team + i * TEAMS < p.queries) {
    var sum_i = 0.0;
    sum_i += shared_[team + i * TEAMS][x]; //#for x in 0..8
    let norm_i = 1.0 / sum_i;
    //#if SUMS
    //: if (lane == 0u) {
    //:   let r_i = z * p.queries + t_i;
    //:   sums[r_i] = top_i;
    //:   sums[r_i + p.groups / p.blocks * p.queries] = norm_i;
    //: }
    //#end
    //#for e in 0..OUTS
    //#let x = e * 8
    if (lane + x < VECTORS) { //#if RAGGED
    result[o0 + t_i * p.or + lane + x] = o_i_e * norm_i;
    } //#if RAGGED
    //#end
  }
  //#end
}
