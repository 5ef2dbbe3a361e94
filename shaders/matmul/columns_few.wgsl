// A few rows times a matrix `[k, n]`, read four columns at a time. A workgroup has COLUMNS vectors of columns and SLICES slices of k,
// whose parts are summed as a tree in workgroup memory at the end.

alias A = f32; //#param Type of A's elements.
alias B = vec4<f32>; //#param Type of B's elements, or of four of them.
alias C = vec4<f32>; //#param Type of what is stored at once.
alias Acc = f32; //#param Type of the sums.
const WIDE_B = true; //#param B is read four at a time.
const WIDE_C = true; //#param Results are stored four columns at a time.
const HALF = false; //#param Elements of A are f16, which are computed with in f32.
const HALF_B = false; //#param Elements of B are f16, which are computed with in f32.
const ROWS = 1u; //#param Rows of the result that an invocation sums.
const COLUMNS = 16u; //#param Vectors of columns of a workgroup.
const SLICES = 16u; //#param Invocations that share a column; a power of two.
const BATCH_RANK = 0; //#param Axes of the loop over products; 0 for one product.
const NORM = false; //#param The rows of A are normalized first.
const THREADS = 256u; //#let COLUMNS * SLICES
const PARTS = 256u; //#let COLUMNS * SLICES * ROWS
const i = 0u; //#index
const e = 0u; //#index
const half = 8u; //#index
const start = 0u; //#index
const q = 0u; //#index
const later = 0u; //#index
const other = 128u; //#index
const l = 0u; //#lane

fn load_a(x: f32) -> f32 { return x; } //#inline !HALF
//: fn load_a(x: f16) -> f32 { return f32(x); } //#inline
fn load_b(x: vec4<f32>) -> vec4<f32> { return x; } //#inline !HALF_B
//: fn load_b(x: vec4<f16>) -> vec4<f32> { return vec4<f32>(x); } //#inline WIDE_B
//: fn load_b(x: f16) -> f32 { return f32(x); } //#inline

@group(0) @binding(0) var<storage, read> in0: array<A>;
@group(0) @binding(1) var<storage, read> in1: array<B>;
@group(0) @binding(2) var<storage, read_write> out0: array<C>;
struct Params {
  m: u32,
  n: u32,
  k: u32,
  amstep: u32,
  akstep: u32,
  ldb: u32,
  ldc: u32,
  abase: u32,
  bbase: u32,
  cbase: u32,
  cz: u32,
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
var<workgroup> part: array<vec4<Acc>, PARTS>;

//#if NORM
//#include matmul/normed.wgsl functions
//#end
//#slot finish The epilogue, as a function that gives what is stored for a sum.
fn finish(v: vec4<f32>, at: u32, column: u32) -> C { return v; }
//#end

@compute @workgroup_size(THREADS)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let tx = lidx % COLUMNS; let slice = lidx / COLUMNS;
  let c = (wid.x + wid.y * nwg.x) * COLUMNS + tx;
  let z = wid.z + p.zbase;
  let za = 0u; let zb = 0u; //#include matmul/pieces.wgsl batch
  let bi = p.bbase + zb + min(c, p.n / 4u - 1u); //#if WIDE_B
  //#if !WIDE_B
  //: let bi_e = p.bbase + zb + min(c * 4u + e, p.n - 1u); //#for e in 0..4
  //#end
  let ai_i = p.abase + za + min(i, p.m - 1u) * p.amstep; //#for i in 0..ROWS
  //#if NORM
  //: let n_i = statistics(ai_i, p.k, lidx); //#for i in 0..ROWS
  //#end
  var s_i = vec4<Acc>(); //#for i in 0..ROWS
  // Four steps a turn, so that their loads are under way together, then what is left one by one.
  var k = slice;
  //#for count = 4; count >= 1; count -= 3
  for (; k + 3u * SLICES < p.k; k += 4u * SLICES) { //#if count == 4
  //: for (; k < p.k; k += SLICES) { //#if count == 1
    //#for q in 0..count
    //#let later = q * SLICES
    let k_q = k + later;
    let b_q = load_b(in1[bi + k_q * p.ldb]); //#if WIDE_B
    //: let b_q = vec4(load_b(in1[bi_0 + k_q * p.ldb]), load_b(in1[bi_1 + k_q * p.ldb]), load_b(in1[bi_2 + k_q * p.ldb]), load_b(in1[bi_3 + k_q * p.ldb])); //#if !WIDE_B
    //#end
    //#if NORM
    //#for q in 0..count
    //: let g_q = load_a(in2[k_q]); let h_q = load_a(in3[k_q]);
    //: s_i += ((load_a(in0[ai_i + k_q]) - n_i.x - n_i.y) * n_i.z * g_q + h_q) * b_q; //#for i in 0..ROWS
    //#end
    //#else
    s_i += load_a(in0[ai_i + k_q * p.akstep]) * b_q; //#for q in 0..count, i in 0..ROWS
    //#end
  }
  //#end
  //#for i in 0..ROWS
  //#let start = i * THREADS
  part[start + lidx] = s_i;
  //#end
  workgroupBarrier();
  //#for half = SLICES / 2; half >= 1; half /= 2
  if (slice < half) {
    //#for i in 0..ROWS
    //#let start = i * THREADS
    //#let other = i * THREADS + half * COLUMNS
    part[start + lidx] += part[other + lidx];
    //#end
  }
  workgroupBarrier();
  //#end
  if (slice == 0u && c * 4u < p.n) {
    //#for i in 0..ROWS
    //#let start = i * THREADS
    if (i < p.m) {
      let at = p.cbase + z * p.cz + i * p.ldc; var r = part[start + lidx];
      //#if WIDE_C
      if (p.accumulate != 0u) { r += vec4<Acc>(out0[at + c]); }
      out0[at + c] = finish(r, at + c, p.col0 + c);
      //#else
      //#for l in 0..4
      //: if (c * 4u + l < p.n) {
      //:   let x = c * 4u + l; var y = r[l];
      //:   if (p.accumulate != 0u) { y += Acc(out0[at + x]); }
      //:   out0[at + x] = finish(y, at + x, p.col0 + x);
      //: }
      //#end
      //#end
    }
    //#end
  }
}
