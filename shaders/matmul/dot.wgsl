// Rows of a matrix times a few vectors, everything contiguous along k: reading the matrix once is what it costs. The matrix is A,
// or B where MATRIX_IS_B (its rows are then columns of the result). LANES invocations share a row and add their parts as a tree
// in workgroup memory.

alias A = vec4<f32>; //#param Type of A's elements, or of four of them.
alias B = vec4<f32>; //#param Type of B's elements, or of four of them.
alias C = f32; //#param Type of results.
alias Acc = f32; //#param Type of the sums.
alias Sum = vec4<f32>; //#param Type of the running sums: of one element, or of four of them.
const MATRIX_IS_B = false; //#param The matrix is B, else it is A.
const WIDE = true; //#param Both operands are read four at a time.
const HALF = false; //#param Elements of A are f16, which are computed with in f32.
const HALF_B = false; //#param Elements of B are f16, which are computed with in f32.
const ROWS = 1u; //#param Matrix rows that an invocation sums.
const VECTORS = 1u; //#param Number of vectors, at most 4.
const THREADS = 64u; //#param Invocations of a workgroup; a multiple of LANES.
const LANES = 32u; //#param Invocations that share a row; a power of two.
const BATCH_RANK = 0; //#param Axes of the loop over products; 0 for one product.
const NORM = false; //#param The vectors are rows of A that are normalized first.
const TURNS = 4; //#let LANES > 1 ? 4 : 1
const ROWS_OF_GROUP = 2u; //#let THREADS / LANES * ROWS
const PARTS = 64u; //#let THREADS * ROWS * VECTORS
const i = 0u; //#index
const j = 0u; //#index
const q = 0u; //#index
const s = 0u; //#index
const later = 0u; //#index
const half = 16u; //#index
const start = 0u; //#index
const other = 16u; //#index

fn load_a(x: vec4<f32>) -> vec4<f32> { return x; } //#inline !HALF
//: fn load_a(x: vec4<f16>) -> vec4<f32> { return vec4<f32>(x); } //#inline WIDE
//: fn load_a(x: f16) -> f32 { return f32(x); } //#inline
fn load_b(x: vec4<f32>) -> vec4<f32> { return x; } //#inline !HALF_B
//: fn load_b(x: vec4<f16>) -> vec4<f32> { return vec4<f32>(x); } //#inline WIDE
//: fn load_b(x: f16) -> f32 { return f32(x); } //#inline
fn total(s: vec4<f32>) -> f32 { return s.x + s.y + s.z + s.w; } //#inline WIDE
//: fn total(s: f32) -> f32 { return s; } //#inline

@group(0) @binding(0) var<storage, read> in0: array<A>;
@group(0) @binding(1) var<storage, read> in1: array<B>;
@group(0) @binding(2) var<storage, read_write> out0: array<C>;
struct Params {
  rows: u32,
  k: u32,
  ldx: u32,
  ldv: u32,
  abase: u32,
  bbase: u32,
  cbase: u32,
  cz: u32,
  rstep: u32,
  vstep: u32,
  col0: u32,
  zbase: u32,
  accumulate: u32,
  //: epsilon: f32, //#if NORM
  //#for d in 0..BATCH_RANK
  bd_d: u32,
  ba_d: u32,
  bb_d: u32,
  //#end
}
@group(0) @binding(3) var<uniform> p: Params;
var<workgroup> part: array<Acc, PARTS>; //#if LANES > 1

//#if NORM
//#include matmul/normed.wgsl functions
//#end
//#slot finish The epilogue, as a function that gives what is stored for a sum.
fn finish(v: Acc, at: u32, column: u32) -> C { return v; }
//#end

@compute @workgroup_size(THREADS)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let row0 = (wid.x + wid.y * nwg.x) * ROWS_OF_GROUP + lidx / LANES * ROWS;
  let lane = lidx % LANES;
  let z = wid.z + p.zbase;
  let za = 0u; let zb = 0u; //#include matmul/pieces.wgsl batch
  //#if MATRIX_IS_B
  //: let x_i = p.bbase + zb + min(row0 + i, p.rows - 1u) * p.ldx; //#for i in 0..ROWS
  //: let v_j = p.abase + za + j * p.ldv; //#for j in 0..VECTORS
  //#else
  let x_i = p.abase + za + min(row0 + i, p.rows - 1u) * p.ldx; //#for i in 0..ROWS
  let v_j = p.bbase + zb + j * p.ldv; //#for j in 0..VECTORS
  //#end
  //#if NORM
  //: let n_j = statistics(v_j, p.k, lidx); //#for j in 0..VECTORS
  //#end
  var s_i_j = Sum(); //#for i in 0..ROWS, j in 0..VECTORS
  var k = lane;
  // Where lanes share a row, four steps a turn, so that their loads are under way together, then what is left one by one.
  //#for count = TURNS; count >= 1; count -= 3
  for (; k + 3u * LANES < p.k; k += 4u * LANES) { //#if count == 4
  //: for (; k < p.k; k += LANES) { //#if count == 1
    //#for q in 0..count
    //#let later = q * LANES
    let k_q = k + later;
    //#if MATRIX_IS_B
    //: let m_i_q = load_b(in1[x_i + k_q]); //#for i in 0..ROWS
    //#if NORM
    //: let g_q = load_a(in2[k_q]); let h_q = load_a(in3[k_q]);
    //: let w_j_q = (load_a(in0[v_j + k_q]) - n_j.x - n_j.y) * n_j.z * g_q + h_q; //#for j in 0..VECTORS
    //#else
    //: let w_j_q = load_a(in0[v_j + k_q]); //#for j in 0..VECTORS
    //#end
    //#else
    let m_i_q = load_a(in0[x_i + k_q]); //#for i in 0..ROWS
    let w_j_q = load_b(in1[v_j + k_q]); //#for j in 0..VECTORS
    //#end
    //#end
    s_i_j += m_i_q * w_j_q; //#for q in 0..count, i in 0..ROWS, j in 0..VECTORS
  }
  //#end
  //#if LANES > 1
  //#for i in 0..ROWS, j in 0..VECTORS
  //#let start = (i * VECTORS + j) * THREADS
  part[start + lidx] = total(s_i_j);
  //#end
  workgroupBarrier();
  //#for half = LANES / 2; half >= 1; half /= 2
  if (lane < half) {
    //#for s in 0..ROWS * VECTORS
    //#let start = s * THREADS
    //#let other = s * THREADS + half
    part[start + lidx] += part[other + lidx];
    //#end
  }
  workgroupBarrier();
  //#end
  //#end
  //#for i in 0..ROWS
  if (lane == 0u && row0 + i < p.rows) { //#if LANES > 1
  //: if (row0 + i < p.rows) { //#if LANES == 1
    //#for j in 0..VECTORS
    {
      //#let start = (i * VECTORS + j) * THREADS
      let at = p.cbase + z * p.cz + (row0 + i) * p.rstep + j * p.vstep;
      var r = part[start + lidx]; //#if LANES > 1
      //: var r = total(s_i_j); //#if LANES == 1
      if (p.accumulate != 0u) { r += Acc(out0[at]); }
      out0[at] = finish(r, at, p.col0 + j); //#if !MATRIX_IS_B
      //: out0[at] = finish(r, at, p.col0 + row0 + i); //#if MATRIX_IS_B
    }
    //#end
  }
  //#end
}
