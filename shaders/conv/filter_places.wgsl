// What conv/filter_register.wgsl does for a few neighbouring places: loads the image and the gradient there and adds their products.

const h = 0u; //#index
const u = 0u; //#index
const q = 0u; //#index

struct Params { xrows: u32, xmul: u32, xlimit: u32 }
@group(0) @binding(0) var<storage, read> in0: array<vec4<f32>>;
@group(0) @binding(1) var<uniform> p: Params;
fn load_a(x: vec4<f32>) -> vec4<f32> { return x; }
fn zero() -> vec4<f32> { return vec4<f32>(); }
fn element(pixel: u32, c: u32) -> u32 { return pixel + c; }

fn pieces(line: u32, x: u32, xoff_u: i32, at_u: i32, seen_u: bool, c_u: u32) {
  // PLACES places (4 or 1) from x on.
  //#piece places PLACES
  let place = line * p.xrows + x;
  //#if ACROSS > 0
  //#for h in 0..ceil(UNITS * PLACES / ACROSS)
  //#let u = h % HELD
  //#let begin = floor(h * ACROSS / UNITS)
  //: let x_h = i32((x + step(begin, ln)) * p.xmul) + xoff_u; let ok_h = seen_u & (u32(x_h) < p.xlimit);
  //: let held_h = select(zero(), load_a(in0[element(u32(select(0, at_u + x_h, ok_h)), c_u)]), ok_h);
  //#end
  //#else
  //#for q in 0..PLACES, u in 0..UNITS
  let x_u_q = i32((x + q) * p.xmul) + xoff_u; let ok_u_q = seen_u & (u32(x_u_q) < p.xlimit);
  let a_u_q = select(zero(), load_a(in0[element(u32(select(0, at_u + x_u_q, ok_u_q)), c_u)]), ok_u_q);
  //#end
  //#end
  //#include matmul/columns.wgsl columns_load AT = place; SHIFT = ; COUNT = PLACES
  //#for i in 0..ROWS
  //#let u = WIDE_A ? i >> 2 : i
  //#let l = i & 3
  //#if ACROSS > 0 && (!WIDE_A || l == 0)
  //#for q in 0..PLACES
  //#let flat = q * UNITS + u
  //#let h = floor(flat / ACROSS)
  //#let giver = flat % ACROSS
  //: let a_u_q = subgroupBroadcast(held_h, giver); //#if ACROSS == LANES
  //: let a_u_q = subgroupShuffle(held_h, lane0 + giver); //#if ACROSS != LANES
  //#end
  //#end
  //#for q in 0..PLACES, j in 0..VECS
  //: s_i_j += a_u_q[l] * b_j_q; //#if WIDE_A
  //: s_i_j += a_u_q * b_j_q; //#if !WIDE_A
  //#end
  //#end
  //#end
}
