// The gradient of attention without the matrix of scores, as in FlashAttention-2: shares are computed anew from what the forward pass
// kept of each row. An invocation keeps a query with its gradient in registers and walks over the keys, or keeps a key and its value and
// walks over the queries that see it, in all the heads that share it.

const VECTORS = 1u; //#param Vectors of four that make up the depth.
const CAUSAL = false; //#param A query sees only keys up to its own place.
const LANES = 8u; //#param Invocations of a workgroup: one subgroup where rows are handed round.
const SHARES = false; //#param The lanes of a subgroup load each row together and hand it round.
const QUERY = false; //#param Gives the gradient of queries; else those of keys and values.
const KEY = true; //#param Gives the gradient of keys.
const VALUE = true; //#param Gives the gradient of values.
const SCORED = true; //#let QUERY || KEY
// Where rows are shared, lane l holds the vectors l, l + LANES, ... of each.
const PARTS = 1u; //#let ceil(VECTORS / LANES)
const LAST = 0u; //#let VECTORS - 1
const j = 0u; //#index
const w = 0u; //#index
const begin = 0u; //#index
const giver = 0u; //#index

@group(0) @binding(0) var<storage, read> query: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> keys: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> gradient: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> rows: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> values: array<vec4<f32>>; //#if SCORED
// The gradient of queries, or of keys, or of values alone.
@group(0) @binding(5) var<storage, read_write> result: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> value_result: array<vec4<f32>>; //#if KEY && VALUE
struct Params {
  groups: u32, d1: u32, d2: u32,
  q: u32, q0: u32, q1: u32, q2: u32, qr: u32,
  k: u32, k0: u32, k1: u32, k2: u32, kr: u32,
  v: u32, v0: u32, v1: u32, v2: u32, vr: u32,
  g: u32, g0: u32, g1: u32, g2: u32, gr: u32,
  x: u32, x0: u32, x1: u32, x2: u32, xr: u32,
  y: u32, y0: u32, y1: u32, y2: u32, yr: u32,
  // Extents of the axes that workgroups take, and of those that an invocation sums over.
  e1: u32, e2: u32, sums: u32, s1: u32, s2: u32,
  blocks: u32, queries: u32, keys: u32,
  scale: f32, factor: f32,
}
@group(0) @binding(7) var<uniform> p: Params;

//#slot score The functions of a score, of a weight, and of their gradients.
fn score(x: f32, t: u32, k: u32, a: u32, b: u32, c: u32) -> f32 { return x; }
fn weigh(x: f32, t: u32, k: u32, a: u32, b: u32, c: u32) -> f32 { return x; }
fn spread(x: f32, t: u32, k: u32, a: u32, b: u32, c: u32) -> f32 { return x; }
fn slope(x: f32, d: f32, t: u32, k: u32, a: u32, b: u32, c: u32) -> f32 { return d; }
//#end

@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let group = wid.x + wid.y * nwg.x;
  if (group >= p.groups) { return; }
  let first = (group % p.blocks) * LANES;
  let z = group / p.blocks;
  let c1 = z % p.e2;
  let b1 = z / p.e2 % p.e1;
  let a1 = z / p.e2 / p.e1;
  // A causal query sees no key past its own place, counted there the end.
  let extra = p.keys - p.queries;
  //#if SHARES
  //#for w in 0..PARTS
  //#let begin = w * LANES
  //: let own_w = min(lidx + begin, LAST);
  //#end
  //#end
  //#if QUERY
  //: let a = a1; let b = b1; let c = c1;
  //: let t = min(first + lidx, p.queries - 1u);
  //: let q0 = p.q + a * p.q0 + b * p.q1 + c * p.q2 + t * p.qr;
  //: let g0 = p.g + a * p.g0 + b * p.g1 + c * p.g2 + t * p.gr;
  //: let k0 = p.k + a * p.k0 + b * p.k1 + c * p.k2;
  //: let v0 = p.v + a * p.v0 + b * p.v1 + c * p.v2;
  //: let r = rows[((a * p.d1 + b) * p.d2 + c) * p.queries + t];
  //: let q_j = query[q0 + j]; //#for j in 0..VECTORS
  //: let g_j = gradient[g0 + j]; //#for j in 0..VECTORS
  //: var x_j = vec4<f32>(0.0); //#for j in 0..VECTORS
  //: let end = p.keys; //#if !CAUSAL
  //: let end = min(p.keys, first + LANES + extra); //#if CAUSAL
  //: for (var n = 0u; n < end; n += 1u) {
  //:   let at = k0 + n * p.kr;
  //:   let there = v0 + n * p.vr;
  //#if SHARES
  //: let m_w = keys[at + own_w]; //#for w in 0..PARTS
  //: let o_w = values[there + own_w]; //#for w in 0..PARTS
  //#end
  //#for j in 0..VECTORS
  //#let w = floor(j / LANES)
  //#let giver = j % LANES
  //: let k_j = subgroupBroadcast(m_w, giver); //#if SHARES
  //: let v_j = subgroupBroadcast(o_w, giver); //#if SHARES
  //: let k_j = keys[at + j]; //#if !SHARES
  //: let v_j = values[there + j]; //#if !SHARES
  //#end
  //:   var s = 0.0;
  //:   s += dot(q_j, k_j); //#for j in 0..VECTORS
  //:   var d = 0.0;
  //:   d += dot(g_j, v_j); //#for j in 0..VECTORS
  //:   let x = s * p.scale;
  //:   let e = exp(score(x, t, n, a, b, c) - r.x) * r.y; //#if !CAUSAL
  //:   let e = select(0.0, exp(score(x, t, n, a, b, c) - r.x) * r.y, n <= t + extra); //#if CAUSAL
  //:   let h = slope(x, e * (spread(d, t, n, a, b, c) - r.z), t, n, a, b, c);
  //:   x_j += h * k_j; //#for j in 0..VECTORS
  //: }
  //: if (first + lidx < p.queries) {
  //:   let to = p.x + a * p.x0 + b * p.x1 + c * p.x2 + t * p.xr;
  //:   result[to + j] = x_j * p.factor; //#for j in 0..VECTORS
  //: }
  //#else
  let n = min(first + lidx, p.keys - 1u);
  // Heads that are summed over share their keys and values.
  let k0 = p.k + a1 * p.k0 + b1 * p.k1 + c1 * p.k2 + n * p.kr;
  let v0 = p.v + a1 * p.v0 + b1 * p.v1 + c1 * p.v2 + n * p.vr; //#if KEY
  let k_j = keys[k0 + j]; //#for j in 0..VECTORS
  //#if KEY
  let v_j = values[v0 + j]; //#for j in 0..VECTORS
  var x_j = vec4<f32>(0.0); //#for j in 0..VECTORS
  //#end
  //#if VALUE
  var y_j = vec4<f32>(0.0); //#for j in 0..VECTORS
  //#end
  let from_ = 0u; //#if !CAUSAL
  //: let from_ = max(first, extra) - extra; //#if CAUSAL
  for (var u = 0u; u < p.sums; u += 1u) {
    let c = c1 + u % p.s2;
    let b = b1 + u / p.s2 % p.s1;
    let a = a1 + u / p.s2 / p.s1;
    let q0 = p.q + a * p.q0 + b * p.q1 + c * p.q2;
    let g0 = p.g + a * p.g0 + b * p.g1 + c * p.g2;
    let r0 = ((a * p.d1 + b) * p.d2 + c) * p.queries;
    for (var t = from_; t < p.queries; t += 1u) {
      let at = q0 + t * p.qr;
      let there = g0 + t * p.gr;
      let r = rows[r0 + t];
      //#if SHARES
      //: let m_w = query[at + own_w]; //#for w in 0..PARTS
      //: let o_w = gradient[there + own_w]; //#for w in 0..PARTS
      //#end
      //#for j in 0..VECTORS
      //#let w = floor(j / LANES)
      //#let giver = j % LANES
      //: let q_j = subgroupBroadcast(m_w, giver); //#if SHARES
      //: let g_j = subgroupBroadcast(o_w, giver); //#if SHARES
      let q_j = query[at + j]; //#if !SHARES
      let g_j = gradient[there + j]; //#if !SHARES
      //#end
      var s = 0.0;
      s += dot(q_j, k_j); //#for j in 0..VECTORS
      let x = s * p.scale;
      let e = exp(score(x, t, n, a, b, c) - r.x) * r.y; //#if !CAUSAL
      //: let e = select(0.0, exp(score(x, t, n, a, b, c) - r.x) * r.y, n <= t + extra); //#if CAUSAL
      //#if KEY
      var d = 0.0;
      d += dot(g_j, v_j); //#for j in 0..VECTORS
      let h = slope(x, e * (spread(d, t, n, a, b, c) - r.z), t, n, a, b, c);
      x_j += h * q_j; //#for j in 0..VECTORS
      //#end
      //#if VALUE
      let w = weigh(e, t, n, a, b, c);
      y_j += w * g_j; //#for j in 0..VECTORS
      //#end
    }
  }
  if (first + lidx < p.keys) {
    //#if KEY
    let to = p.x + a1 * p.x0 + b1 * p.x1 + c1 * p.x2 + n * p.xr;
    result[to + j] = x_j * p.factor; //#for j in 0..VECTORS
    //#end
    //#if VALUE
    let into = p.y + a1 * p.y0 + b1 * p.y1 + c1 * p.y2 + n * p.yr;
    //#if KEY
    value_result[into + j] = y_j; //#for j in 0..VECTORS
    //#else
    //: result[into + j] = y_j; //#for j in 0..VECTORS
    //#end
    //#end
  }
  //#end
}
