// How an invocation loads the rows of A into registers, each lane its own or the lanes of a row of lanes together (ACROSS > 0),
// and how their products go into the sums. Afterwards step q of row i is a_i[q] where A is read along the sums by fours,
// a_u_q[l] where it is read across them by fours (u = i / 4, l = i % 4), else a_i_q.

const ROWS = 4u; //#param Rows of an invocation's tile; a multiple of 4 where they are read across the sums by fours.
const VECS = 1u; //#param Vectors of four columns of an invocation's tile.
const LANES = 8u; //#param Invocations of a workgroup: one subgroup where lanes share.
const ACROSS = 0u; //#param Lanes of a row of lanes that load together; 0 where each loads its own.
const TRANS_A = false; //#param A is stored `[k, m]`.
const WIDE_A = true; //#param A is read four at a time along its last axis.
const HALF = false; //#param Elements are f16, which are computed with in f32.
// What one load brings is a unit of a step: where lanes share, they deal UNITS x STEPS of them.
const UNITS = 4u; //#let WIDE_A && TRANS_A ? ROWS / 4 : ROWS
const STEPS = 4u; //#let WIDE_A && !TRANS_A ? 1 : 4
const i = 0u; //#index
const j = 0u; //#index
const h = 0u; //#index
const u = 0u; //#index
const first = 0u; //#index
const begin = 0u; //#index
const giver = 0u; //#index
const q = 0u; //#lane
const l = 0u; //#lane

fn load_a(x: vec4<f32>) -> vec4<f32> { return x; } //#inline !HALF
//: fn load_a(x: vec4<f16>) -> vec4<f32> { return vec4<f32>(x); } //#inline WIDE_A
//: fn load_a(x: f16) -> f32 { return f32(x); } //#inline

// The unit that a lane loads when `first` of a step's units are dealt already, counted from r0; and the step.
//: fn unit(r0: u32, first: u32, ln: u32) -> u32 { return r0 + ln % UNITS; } //#inline UNITS < ACROSS
fn unit(r0: u32, first: u32, ln: u32) -> u32 { return r0 + first + ln; } //#inline
//: fn step(first: u32, ln: u32) -> u32 { return (first + ln / UNITS) % STEPS; } //#inline UNITS < ACROSS
fn step(first: u32, ln: u32) -> u32 { return first; } //#inline

struct Params { m: u32, lda: u32, abase: u32 }
@group(0) @binding(0) var<storage, read> in0: array<vec4<f32>>;
@group(0) @binding(1) var<uniform> p: Params;

const COUNT = 4;

fn rows(za: u32, r0: u32, lane0: u32, ln: u32, k: u32) {
  //#piece rows_setup
  //#if ACROSS > 0
  //#for h in 0..ceil(UNITS * STEPS / ACROSS)
  //#let first = h * ACROSS % UNITS
  //#let begin = floor(h * ACROSS / UNITS)
  //: let ai_h = p.abase + za + min(unit(r0, first, ln), p.m - 1u) * p.lda + step(begin, ln); //#if !TRANS_A
  //: let ai_h = p.abase + za + min(unit(r0 / 4u, first, ln), p.m / 4u - 1u) + step(begin, ln) * p.lda; //#if TRANS_A && WIDE_A
  //: let ai_h = p.abase + za + min(unit(r0, first, ln), p.m - 1u) + step(begin, ln) * p.lda; //#if TRANS_A && !WIDE_A
  //#end
  //#elif !TRANS_A
  let ai_i = p.abase + za + min(r0 + i, p.m - 1u) * p.lda; //#for i in 0..ROWS
  //#elif WIDE_A
  //: let ai_h = p.abase + za + min(r0 / 4u + h, p.m / 4u - 1u); //#for h in 0..UNITS
  //#else
  //: let ai_h = p.abase + za + min(r0 + h, p.m - 1u); //#for h in 0..UNITS
  //#end
  //#end

  // Loads COUNT steps (4 or 1) from k on.
  //#piece rows_load COUNT
  //#if ACROSS > 0
  //#for h in 0..ceil(UNITS * min(COUNT, STEPS) / ACROSS)
  //: let held_h = load_a(in0[ai_h + k * p.lda]); //#if TRANS_A
  //: let held_h = load_a(in0[ai_h + k / 4u]); //#if !TRANS_A && WIDE_A
  //: let held_h = load_a(in0[ai_h + k]); //#if !TRANS_A && !WIDE_A
  //#end
  //#elif TRANS_A
  //: let a_h_q = load_a(in0[ai_h + (k + q) * p.lda]); //#for q in 0..COUNT, h in 0..UNITS
  //#elif WIDE_A
  let a_i = load_a(in0[ai_i + k / 4u]); //#for i in 0..ROWS
  //#else
  //: let a_i_q = load_a(in0[ai_i + k + q]); //#for i in 0..ROWS, q in 0..COUNT
  //#end
  //#end

  var s_i_j = vec4<f32>();
  let b_j_q = vec4<f32>();
  // Adds the products of COUNT steps to every sum of the tile, row by row.
  //#piece products COUNT
  //#for i in 0..ROWS
  //#let u = TRANS_A && WIDE_A ? i >> 2 : i
  //#let l = i & 3
  //#if ACROSS > 0 && (!TRANS_A || !WIDE_A || l == 0)
  // The unit from the lane that holds it.
  //#for q in 0..STEPS == 1 ? 1 : COUNT
  //#let flat = q * UNITS + u
  //#let h = floor(flat / ACROSS)
  //#let giver = flat % ACROSS
  //#if ACROSS == LANES
  //: let a_i = subgroupBroadcast(held_h, giver); //#if STEPS == 1
  //: let a_u_q = subgroupBroadcast(held_h, giver); //#if STEPS > 1
  //#else
  //: let a_i = subgroupShuffle(held_h, lane0 + giver); //#if STEPS == 1
  //: let a_u_q = subgroupShuffle(held_h, lane0 + giver); //#if STEPS > 1
  //#end
  //#end
  //#end
  //#for q in 0..COUNT, j in 0..VECS
  s_i_j += a_i[q] * b_j_q; //#if WIDE_A && !TRANS_A
  //: s_i_j += a_u_q[l] * b_j_q; //#if WIDE_A && TRANS_A
  //: s_i_j += a_i_q * b_j_q; //#if !WIDE_A
  //#end
  //#end
  //#end
}
