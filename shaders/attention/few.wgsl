// Attention for hardware GPUs with few queries, as when tokens are made one by one: a workgroup takes one query of a head. Its
// invocations take a key each to find the scores, then a vector of the result each and every so-many-th key, so that neighbours read
// neighbouring values. Maxima and sums are trees in workgroup memory.

const VECTORS = 16u; //#param Vectors of four that make up the depth; at most THREADS.
const CAUSAL = false; //#param A query sees only keys up to its own place.
const SUMS = false; //#param Keeps the greatest score of each row, and behind them the inverse of each sum of exponentials.
const THREADS = 64u; //#param Invocations of a workgroup; a power of two.
const SLICES = 4u; //#let floor(THREADS / VECTORS)
const half = 32u; //#index
const x = 0u; //#index

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
var<workgroup> own: array<vec4<f32>, VECTORS>;
var<workgroup> weights: array<f32, THREADS>;
var<workgroup> tree: array<f32, THREADS>;
var<workgroup> parts: array<vec4<f32>, THREADS>;

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
  let t = group % p.blocks;
  let z = group / p.blocks;
  let a = 0u; let b = 0u; let c = 0u; let q0 = 0u; let k0 = 0u; let v0 = 0u; let o0 = 0u; //#include attention/form.wgsl begin
  if (lidx < VECTORS) { own[lidx] = query[q0 + t * p.qr + lidx] * p.scale; }
  workgroupBarrier();
  let e = lidx % VECTORS;
  let slice = lidx / VECTORS;
  // The last query sees all keys, as it does where the keys of earlier calls are kept.
  //: let end = t + 1u + p.keys - p.queries; //#if CAUSAL
  let end = p.keys; //#if !CAUSAL
  var top = -3.4028234e38;
  var total = 0.0;
  var o = vec4<f32>(0.0);
  for (var n = 0u; n < end; n += THREADS) {
    let k = min(n + lidx, end - 1u);
    let seen = n + lidx < end;
    let at = k0 + k * p.kr;
    var s = 0.0;
    s += dot(own[x], keys[at + x]); //#for x in 0..VECTORS
    s = score(s, t, k, a, b, c);
    tree[lidx] = select(-3.4028234e38, s, seen);
    workgroupBarrier();
    //#for half = THREADS / 2; half >= 1; half /= 2
    if (lidx < half) { tree[lidx] = max(tree[lidx], tree[lidx + half]); }
    workgroupBarrier();
    //#end
    let new_ = max(top, tree[0]);
    let shrink = exp(top - new_);
    top = new_;
    let w = select(0.0, exp(s - new_), seen);
    total = total * shrink + w;
    weights[lidx] = weigh(w, t, k, a, b, c);
    workgroupBarrier();
    o *= shrink;
    if (slice < SLICES) {
      let count = min(THREADS, end - n);
      for (var y = slice; y < count; y += SLICES) { o += weights[y] * values[v0 + (n + y) * p.vr + e]; }
    }
  }
  workgroupBarrier();
  tree[lidx] = total;
  parts[lidx] = o;
  workgroupBarrier();
  //#for half = THREADS / 2; half >= 1; half /= 2
  if (lidx < half) { tree[lidx] += tree[lidx + half]; }
  workgroupBarrier();
  //#end
  //#if SUMS
  //: if (lidx == 0u) {
  //:   let r = z * p.queries + t;
  //:   sums[r] = top;
  //:   sums[r + p.groups / p.blocks * p.queries] = 1.0 / tree[0];
  //: }
  //#end
  if (lidx < VECTORS) {
    var sum = parts[lidx];
    for (var y = 1u; y < SLICES; y += 1u) { sum += parts[y * VECTORS + lidx]; }
    result[o0 + t * p.or + lidx] = sum * (1.0 / tree[0]);
  }
}
