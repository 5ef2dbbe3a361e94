// The tiled matrix product for hardware GPUs: a workgroup stages blocks of both operands in its memory, and each invocation sums a
// register tile of them. C[m, n] = A[m, k] * B[k, n] in batches, either operand stored transposed.

alias A = vec4<f32>; //#param Type of A's elements, or of four of them.
alias B = vec4<f32>; //#param Type of B's elements, or of four of them.
alias C = vec4<f32>; //#param Type of what is stored at once.
alias Acc = f32; //#param Type of the sums.
const BM = 32u; //#param Rows of a workgroup's tile.
const BN = 32u; //#param Columns of a workgroup's tile.
const BK = 32u; //#param Steps of the sums that are staged at once.
const TM = 4u; //#param Rows of an invocation's tile.
const TN = 4u; //#param Columns of an invocation's tile.
const TRANS_A = true; //#param A is stored `[k, m]`.
const TRANS_B = false; //#param B is stored `[n, k]`.
const WIDE_A = true; //#param A is read four at a time along its last axis.
const WIDE_B = true; //#param B is read four at a time along its last axis.
const HALF = false; //#param Elements of A are f16, which are computed with in f32.
const HALF_B = false; //#param Elements of B are f16, which are computed with in f32.
const SPLIT = false; //#param Several workgroups share a sum; each stores its part.
const BATCH_RANK = 0; //#param Axes of the loop over products; 0 for one product.
const THREADS = 64u; //#let BM / TM * (BN / TN)
const ACROSS = 8u; //#let BN / TN
const DOWN = 8u; //#let BM / TM
const ROW_BLOCKS = 8u; //#let BM / 4
const COLUMN_BLOCKS = 8u; //#let BN / 4
const STEPS = 8u; //#let BK / 4
const ACROSS_A = false; //#let !TRANS_A && WIDE_A
const ACROSS_B = false; //#let TRANS_B && WIDE_B
const STEP_A = 8u; //#let BM / 4 + (ACROSS_A ? 1 : 0)
const STEP_B = 8u; //#let BN / 4 + (ACROSS_B ? 1 : 0)
const i = 0u; //#index
const j = 0u; //#index
const q = 0u; //#index
const first = 0u; //#index
const rest = 64u; //#index
const inner = 0; //#index

fn load_a(x: vec4<f32>) -> vec4<f32> { return x; } //#inline !HALF
//: fn load_a(x: vec4<f16>) -> vec4<f32> { return vec4<f32>(x); } //#inline WIDE_A
//: fn load_a(x: f16) -> f32 { return f32(x); } //#inline
fn load_b(x: vec4<f32>) -> vec4<f32> { return x; } //#inline !HALF_B
//: fn load_b(x: vec4<f16>) -> vec4<f32> { return vec4<f32>(x); } //#inline WIDE_B
//: fn load_b(x: f16) -> f32 { return f32(x); } //#inline
//: fn slice(z: u32, zs: u32) -> u32 { return zs; } //#inline SPLIT
fn slice(z: u32, zs: u32) -> u32 { return z; } //#inline

@group(0) @binding(0) var<storage, read> in0: array<A>;
@group(0) @binding(1) var<storage, read> in1: array<B>;
@group(0) @binding(2) var<storage, read_write> out0: array<C>;
struct Params {
  m: u32,
  n: u32,
  k: u32,
  kfrom: u32,
  kstep: u32,
  ldc: u32,
  cbase: u32,
  cz: u32,
  col0: u32,
  zbase: u32,
  splits: u32,
  groups: u32,
  rowgroups: u32,
  lda: u32,
  ldb: u32,
  abase: u32,
  bbase: u32,
  //#for d in 0..BATCH_RANK
  bd_d: u32,
  ba_d: u32,
  bb_d: u32,
  //#end
}
@group(0) @binding(3) var<uniform> p: Params;
var<workgroup> sa: array<array<vec4<Acc>, STEP_A>, BK>;
var<workgroup> sb: array<array<vec4<Acc>, STEP_B>, BK>;

//#slot finish The epilogue, as a function that gives what is stored for a sum.
fn finish(v: vec4<f32>, at: u32, column: u32) -> C { return v; }
//#end

@compute @workgroup_size(THREADS)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let r0 = 0u; let c0 = 0u; let tx = lidx; let ty = 0u; //#include matmul/tile.wgsl place
  //: let zs = wid.z + p.zbase; let z = zs / p.splits; let zk = zs % p.splits; //#if SPLIT
  let z = wid.z + p.zbase; //#if !SPLIT
  let za = 0u; let zb = 0u; //#include matmul/pieces.wgsl batch
  //: let k0 = p.kfrom + zk * p.kstep; let k1 = min(k0 + p.kstep, p.k); //#if SPLIT
  let k0 = p.kfrom; let k1 = p.k; //#if !SPLIT
  var s_i_j = vec4<Acc>(); //#for i in 0..TM, j in 0..TN / 4
  for (var kt = k0; kt < k1; kt += BK) {
    // Each invocation copies vectors that are contiguous in memory and in the panel, or blocks of 4 x 4 elements; steps beyond the last
    // are asked for in the last turn alone. Where steps are contiguous, neighbours copy neighbouring steps.
    //#for inner in 0..2
    if (kt + BK <= k1) { //#if inner == 0
    //: else { //#if inner == 1
      //#if TRANS_A && WIDE_A
      sa[0][0] = vec4<Acc>(); //#include matmul/blocks.wgsl panel BUFFER = in0; LOAD = load_a; BASE = p.abase + za; STRIDE = p.lda; EXTENT = p.m; INNER = inner == 0; SIDE = BM; BLOCKS = ROW_BLOCKS; ORIGIN = r0; PANEL = sa
      //#else
      //#for first = 0; first < BM * BK / 16; first += THREADS
      //#let rest = BM * BK / 16 - first
      //: if (lidx < rest) { //#if rest < THREADS
      //: { //#if rest >= THREADS
        //#if ACROSS_A
        //: let t = lidx + first; let bi = t / STEPS; let bq = t % STEPS;
        //#else
        //: let t = lidx + first; let bi = t % ROW_BLOCKS; let bq = t / ROW_BLOCKS;
        //#end
        //: let at = r0 + bi * 4u; let k = kt + bq * 4u;
        //: let v_q = in0[at + k]; //#include matmul/blocks.wgsl plain BUFFER = in0; LOAD = load_a; BASE = p.abase + za; STRIDE = p.lda; EXTENT = p.m; ALONG_K = !TRANS_A; WIDE = WIDE_A; INNER = inner == 0
        //: sa[bq * 4u + q][bi] = v_q; //#for q in 0..4
      //: }
      //#end
      //#end
      //#if WIDE_B && !TRANS_B
      sb[0][0] = vec4<Acc>(); //#include matmul/blocks.wgsl panel BUFFER = in1; LOAD = load_b; BASE = p.bbase + zb; STRIDE = p.ldb; EXTENT = p.n; INNER = inner == 0; SIDE = BN; BLOCKS = COLUMN_BLOCKS; ORIGIN = c0; PANEL = sb
      //#else
      //#for first = 0; first < BN * BK / 16; first += THREADS
      //#let rest = BN * BK / 16 - first
      //: if (lidx < rest) { //#if rest < THREADS
      //: { //#if rest >= THREADS
        //#if ACROSS_B
        //: let t = lidx + first; let bi = t / STEPS; let bq = t % STEPS;
        //#else
        //: let t = lidx + first; let bi = t % COLUMN_BLOCKS; let bq = t / COLUMN_BLOCKS;
        //#end
        //: let at = c0 + bi * 4u; let k = kt + bq * 4u;
        //: let v_q = in1[at + k]; //#include matmul/blocks.wgsl plain BUFFER = in1; LOAD = load_b; BASE = p.bbase + zb; STRIDE = p.ldb; EXTENT = p.n; ALONG_K = TRANS_B; WIDE = WIDE_B; INNER = inner == 0
        //: sb[bq * 4u + q][bi] = v_q; //#for q in 0..4
      //: }
      //#end
      //#end
    }
    //#end
    workgroupBarrier();
    //#include matmul/tile.wgsl products
    workgroupBarrier();
  }
  //#include matmul/pieces.wgsl store COUNT_ROWS = TM; COUNT_VECS = TN / 4; ROW_IN = (r0 + (ty + i / 4u * DOWN) * 4u + i % 4u) < p.m; ROW_AT = p.cbase + slice(z, zs) * p.cz + (r0 + (ty + i / 4u * DOWN) * 4u + i % 4u) * p.ldc; COLUMN = (c0 / 4u + tx + j * ACROSS)
}
