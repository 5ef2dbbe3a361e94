// How an invocation loads the columns of B into registers: b_j_q is the vector j of columns at step q of the sum. B is stored by
// rows, or transposed; it is read by fours where its rows have a multiple of four elements.

const VECS = 1u; //#param Vectors of four columns of an invocation's tile.
const TRANS_B = false; //#param B is stored `[n, k]`.
const WIDE_B = true; //#param B is read four at a time along its last axis.
const SKEW_B = 0; //#param Elements by which each row of B is further from a multiple of four than the row before, where it is read by fours.
const HALF_B = false; //#param Elements of B are f16, which are computed with in f32.
const e = 0u; //#index
const h = 0u; //#index
const j = 0u; //#index
const q = 0u; //#lane

fn load_b(x: vec4<f32>) -> vec4<f32> { return x; } //#inline !HALF_B
//: fn load_b(x: vec4<f16>) -> vec4<f32> { return vec4<f32>(x); } //#inline WIDE_B
//: fn load_b(x: f16) -> f32 { return f32(x); } //#inline

struct Params { n: u32, ldb: u32 }
@group(0) @binding(0) var<storage, read> in1: array<vec4<f32>>;
@group(0) @binding(1) var<uniform> p: Params;

const BASE = 0u;
const AT = 0u;
const COUNT = 4;

// BASE is where the matrix begins, c0 the lane's first vector of columns. Columns are clamped to p.n.
fn columns(c0: u32) {
  //#piece columns_setup BASE
  //#if SKEW_B > 0
  //: let bi = BASE + c0;
  //#elif TRANS_B
  //: let bi_e = BASE + min(c0 * 4u + e, p.n - 1u) * p.ldb; //#for e in 0..VECS * 4
  //#elif WIDE_B
  let bi_j = BASE + min(c0 + j, p.n / 4u - 1u); //#for j in 0..VECS
  //#else
  //: let bi_e = BASE + min(c0 * 4u + e, p.n - 1u); //#for e in 0..VECS * 4
  //#end
  //#end

  // Loads COUNT steps (4 or 1) from AT on: a row of B, or a column of the transposed one. SHIFT is what is added to each position.
  //#piece columns_load AT SHIFT COUNT
  //#if SKEW_B > 0
  // Every fourth row begins at a whole four, the others SKEW_B, twice and three times that later. What is read beyond the last
  // row belongs to columns beyond p.n. p.ldb counts elements here.
  //#for q in 0..COUNT
  //#let late = q * SKEW_B % 4
  //: let bk_q = AT / 4u * p.ldb + q * p.ldb / 4u;
  //: let w_q_h = load_b(in1[bi + bk_q + h]); //#for h in 0..VECS + (late > 0 ? 1 : 0)
  //#for j in 0..VECS
  //#let next = j + 1
  //: let b_j_q = w_q_j; //#if late == 0
  //: let b_j_q = vec4(w_q_j.yzw, w_q_next.x); //#if late == 1
  //: let b_j_q = vec4(w_q_j.zw, w_q_next.xy); //#if late == 2
  //: let b_j_q = vec4(w_q_j.w, w_q_next.xyz); //#if late == 3
  //#end
  //#end
  //#elif TRANS_B && WIDE_B
  //: let w_e = load_b(in1[bi_e + AT / 4u SHIFT]); //#for e in 0..VECS * 4
  //#for q in 0..4, j in 0..VECS
  //#let e0 = 4 * j
  //#let e1 = 4 * j + 1
  //#let e2 = 4 * j + 2
  //#let e3 = 4 * j + 3
  //: let b_j_q = vec4(w_e0[q], w_e1[q], w_e2[q], w_e3[q]);
  //#end
  //#elif WIDE_B
  //#for q in 0..COUNT
  let bk_q = (AT + q) * p.ldb;
  let b_j_q = load_b(in1[bi_j + bk_q]); //#for j in 0..VECS
  //#end
  //#else
  //#for q in 0..COUNT
  //: let bk_q = (AT + q) * p.ldb; //#if !TRANS_B
  //#for j in 0..VECS
  //#let e0 = 4 * j
  //#let e1 = 4 * j + 1
  //#let e2 = 4 * j + 2
  //#let e3 = 4 * j + 3
  //#if TRANS_B
  //: let b_j_q = vec4(load_b(in1[bi_e0 + AT + q SHIFT]), load_b(in1[bi_e1 + AT + q SHIFT]), load_b(in1[bi_e2 + AT + q SHIFT]), load_b(in1[bi_e3 + AT + q SHIFT]));
  //#else
  //: let b_j_q = vec4(load_b(in1[bi_e0 + bk_q]), load_b(in1[bi_e1 + bk_q]), load_b(in1[bi_e2 + bk_q]), load_b(in1[bi_e3 + bk_q]));
  //#end
  //#end
  //#end
  //#end
  //#end
}
