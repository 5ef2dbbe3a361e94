// Matrix product C[m, n] = A[m, k] * B[k, n], in batches, either operand stored transposed. Register blocking without workgroup
// memory: each invocation keeps a tile of sums in registers and walks along k. For adapters where the invocations of a workgroup
// are lanes of a processor's vectors, and for small sums.

alias A = vec4<f32>; //#param Type of A's elements, or of four of them.
alias B = vec4<f32>; //#param Type of B's elements, or of four of them.
alias C = vec4<f32>; //#param Type of what is stored at once.
alias Acc = f32; //#param Type of the sums.
const ROWS = 4u; //#param Rows of an invocation's tile; a multiple of 4 where they are read across the sums by fours.
const VECS = 1u; //#param Vectors of four columns of an invocation's tile.
const LANES = 8u; //#param Invocations of a workgroup: one subgroup where lanes share.
const TAIL = true; //#param The sums may have a number of terms that is no multiple of 4.
const SPLIT = false; //#param Several invocations share a sum; each stores its part.
const BATCH_RANK = 0; //#param Axes of the loop over products; 0 for one product.
const NORM = false; //#param The rows of A, ROWS at most, are normalized first.
const WIDE_A = true; //#param A is read four at a time along its last axis.
const HALF = false; //#param Elements are f16, which are computed with in f32.
const LEAST = 1; //#let TAIL ? 1 : 4
const i = 0u; //#index
const j = 0u; //#index
const q = 0u; //#index

fn load_n(x: vec4<f32>) -> vec4<f32> { return x; } //#inline !HALF
//: fn load_n(x: vec4<f16>) -> vec4<f32> { return vec4<f32>(x); } //#inline WIDE_A
//: fn load_n(x: f16) -> f32 { return f32(x); } //#inline

// Which result of the batch, or part of one, goes where.
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
  lda: u32,
  ldb: u32,
  ldc: u32,
  abase: u32,
  bbase: u32,
  cbase: u32,
  cz: u32,
  col0: u32,
  zbase: u32,
  splits: u32,
  groups: u32,
  rowgroups: u32,
  lanemask: u32,
  laneshift: u32,
  //: epsilon: f32, //#if NORM
  //#for d in 0..BATCH_RANK
  bd_d: u32,
  ba_d: u32,
  bb_d: u32,
  //#end
}
@group(0) @binding(3) var<uniform> p: Params;

//#if NORM
//#include matmul/normed.wgsl functions
//#end
//#slot finish The epilogue, as a function that gives what is stored for a sum.
fn finish(v: vec4<f32>, at: u32, column: u32) -> C { return v; }
//#end

@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  //#if NORM
  // While all lanes are here: they may share rows that few of them multiply.
  //#for i in 0..ROWS
  //: let n_i = statistics(p.abase + min(i, p.m - 1u) * p.lda, p.k / 4u, lidx); //#if WIDE_A
  //: let n_i = statistics(p.abase + min(i, p.m - 1u) * p.lda, p.k, lidx); //#if !WIDE_A
  //#end
  //#end
  let r0 = 0u; let c0 = 0u; //#include matmul/lanes.wgsl place
  //#if SPLIT
  //: let zs = wid.z + p.zbase; let z = zs / p.splits; let zk = zs % p.splits;
  //: let k0 = p.kfrom + zk * p.kstep; let k1 = min(k0 + p.kstep, p.k);
  //#else
  let z = wid.z + p.zbase;
  let k0 = p.kfrom; let k1 = p.k;
  //#end
  let za = 0u; let zb = 0u; //#include matmul/pieces.wgsl batch
  //#include matmul/rows.wgsl rows_setup
  //#include matmul/columns.wgsl columns_setup BASE = p.bbase + zb
  var s_i_j = vec4<Acc>(); //#for i in 0..ROWS, j in 0..VECS
  // Four steps at a time, then what is left one by one.
  //#for count = 4; count >= LEAST; count -= 3
  for (var k = k0; k + 4u <= k1; k += 4u) { //#if count == 4
  //: for (var k = k0 + ((k1 - k0) & 0xfffffffcu); k < k1; k++) { //#if count == 1
    //#if NORM
    //#if WIDE_A
    //: let g = load_n(in2[k / 4u]); let h = load_n(in3[k / 4u]);
    //: let a_i = (load_n(in0[ai_i + k / 4u]) - n_i.x - n_i.y) * n_i.z * g + h; //#for i in 0..ROWS
    //#else
    //#for q in 0..count
    //: let g_q = load_n(in2[k + q]); let h_q = load_n(in3[k + q]);
    //: let a_i_q = (load_n(in0[ai_i + k + q]) - n_i.x - n_i.y) * n_i.z * g_q + h_q; //#for i in 0..ROWS
    //#end
    //#end
    //#else
    //#include matmul/rows.wgsl rows_load COUNT = count
    //#end
    //#include matmul/columns.wgsl columns_load AT = k; SHIFT = ; COUNT = count
    //#include matmul/rows.wgsl products COUNT = count
  }
  //#end
  //#include matmul/pieces.wgsl store COUNT_ROWS = ROWS; COUNT_VECS = VECS; ROW_IN = r0 + i < p.m; ROW_AT = p.cbase + slice(z, zs) * p.cz + (r0 + i) * p.ldc; COLUMN = (c0 + j)
}
