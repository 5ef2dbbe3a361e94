// Gradient of a convolution's filter with register blocking and no workgroup memory: rows of the tile are taps and channels of the
// image, columns channels of the incoming gradient; sums run over places, line by line. For software adapters. wid.z counts parts.

alias A = vec4<f32>; //#param Type of the image's elements, or of four of them.
alias B = vec4<f32>; //#param Type of the gradient's elements, or of four of them.
alias C = vec4<f32>; //#param Type of what is stored at once.
alias Acc = f32; //#param Type of the sums.
const ROWS = 4u; //#param Rows of an invocation's tile.
const VECS = 1u; //#param Vectors of four columns of an invocation's tile.
const LANES = 8u; //#param Invocations of a workgroup: one subgroup where lanes share.
const ACROSS = 0u; //#param Lanes of a row of lanes that load together; 0 where each loads its own.
const DEEP = true; //#param There is a depth axis.
const WIDE_A = true; //#param The image is read four channels at a time.
const HALF = false; //#param Elements are f16, which are computed with in f32.
// One load brings a unit of rows, four or one, at one place; HELD different units come to a lane.
const UNITS = 1u; //#let WIDE_A ? ROWS / 4 : ROWS
const HELD = 1u; //#let ACROSS == 0 ? UNITS : max(1, UNITS / ACROSS)
const i = 0u; //#index
const j = 0u; //#index
const h = 0u; //#index
const u = 0u; //#index
const first = 0u; //#index
const begin = 0u; //#index
const giver = 0u; //#index
const q = 0u; //#index
const l = 0u; //#lane

fn load_a(x: vec4<f32>) -> vec4<f32> { return x; } //#inline !HALF
//: fn load_a(x: vec4<f16>) -> vec4<f32> { return vec4<f32>(x); } //#inline WIDE_A
//: fn load_a(x: f16) -> f32 { return f32(x); } //#inline
fn zero() -> vec4<f32> { return vec4<Acc>(); } //#inline WIDE_A
//: fn zero() -> f32 { return Acc(0); } //#inline
fn unit(h: u32, first: u32, ln: u32) -> u32 { return h; } //#inline ACROSS == 0
//: fn unit(h: u32, first: u32, ln: u32) -> u32 { return ln % UNITS; } //#inline UNITS < ACROSS
//: fn unit(h: u32, first: u32, ln: u32) -> u32 { return first + ln; } //#inline
//: fn step(begin: u32, ln: u32) -> u32 { return (begin + ln / UNITS) % 4u; } //#inline UNITS < ACROSS
fn step(begin: u32, ln: u32) -> u32 { return begin; } //#inline
fn row(r0: u32, h: u32, first: u32, ln: u32) -> u32 { return r0 + h; } //#inline ACROSS == 0
//: fn row(r0: u32, h: u32, first: u32, ln: u32) -> u32 { return r0 + ln % UNITS; } //#inline UNITS < ACROSS
//: fn row(r0: u32, h: u32, first: u32, ln: u32) -> u32 { return r0 + first + ln; } //#inline
fn row_of(r0: u32, h: u32, first: u32, ln: u32) -> u32 { return min(r0 + 4u * unit(h, first, ln), p.m - 4u); } //#inline WIDE_A
//: fn row_of(r0: u32, h: u32, first: u32, ln: u32) -> u32 { return min(row(r0, h, first, ln), p.m - 1u); } //#inline
fn element(pixel: u32, c: u32) -> u32 { return pixel * (p.channels / 4u) + c / 4u; } //#inline WIDE_A
//: fn element(pixel: u32, c: u32) -> u32 { return pixel * p.channels + c; } //#inline

@group(0) @binding(0) var<storage, read> in0: array<A>;
@group(0) @binding(1) var<storage, read> in1: array<B>;
@group(0) @binding(2) var<storage, read_write> out0: array<C>;
struct Params {
  m: u32,
  n: u32,
  lines: u32,
  step: u32,
  channels: u32,
  ldb: u32,
  ldc: u32,
  cz: u32,
  col0: u32,
  zbase: u32,
  groups: u32,
  rowgroups: u32,
  lanemask: u32,
  laneshift: u32,
  zrows: u32, zmul: u32, zadd: i32, zstep: i32, zlimit: u32, ztaps: u32, zphases: u32, zomul: u32, zoadd: i32, zolimit: u32, //#if DEEP
  yrows: u32, ymul: u32, yadd: i32, ystep: i32, ylimit: u32, ytaps: u32, yphases: u32, yomul: u32, yoadd: i32, yolimit: u32,
  xrows: u32, xmul: u32, xadd: i32, xstep: i32, xlimit: u32, xtaps: u32, xphases: u32, xomul: u32, xoadd: i32, xolimit: u32,
}
@group(0) @binding(3) var<uniform> p: Params;

//#slot finish A function from a sum to the value stored.
fn finish(v: vec4<f32>, at: u32, column: u32) -> C { return v; }
//#end

@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let r0 = 0u; let c0 = 0u; let ln = lidx; //#include matmul/lanes.wgsl place
  let z = wid.z + p.zbase;
  // Which channel and which tap each unit is, and what the tap adds to a position.
  //#for h in 0..HELD
  //#let first = h * ACROSS % UNITS
  let q_h = row_of(r0, h, first, ln) / p.channels; let c_h = row_of(r0, h, first, ln) - q_h * p.channels;
  let xoff_h = i32(q_h % p.xtaps) * p.xstep + p.xadd; let xq_h = q_h / p.xtaps;
  let yoff_h = i32(xq_h % p.ytaps) * p.ystep + p.yadd; let yq_h = xq_h / p.ytaps;
  let zoff_h = i32(yq_h % p.ztaps) * p.zstep + p.zadd; //#if DEEP
  //#end
  //#include matmul/columns.wgsl columns_setup BASE = 0u
  var s_i_j = vec4<Acc>(); //#for i in 0..ROWS, j in 0..VECS
  for (var line = z * p.step; line < min((z + 1u) * p.step, p.lines); line++) {
    let yl = line % p.yrows; let ym = line / p.yrows;
    let zl = ym % p.zrows; let zm = ym / p.zrows; //#if DEEP
    // The line of the image that each unit reads.
    //#for h in 0..HELD
    let zp_h = i32(zl * p.zmul) + zoff_h; //#if DEEP
    let yp_h = i32(yl * p.ymul) + yoff_h;
    //#if DEEP
    let seen_h = (u32(zp_h) < p.zlimit) & (u32(yp_h) < p.ylimit);
    let at_h = ((i32(zm) * i32(p.zlimit) + zp_h) * i32(p.ylimit) + yp_h) * i32(p.xlimit);
    //#else
    //: let seen_h = u32(yp_h) < p.ylimit; let at_h = (i32(ym) * i32(p.ylimit) + yp_h) * i32(p.xlimit);
    //#end
    //#end
    // Four places at a time, then what is left one by one.
    //#for count = 4; count >= 1; count -= 3
    for (var x = 0u; x + 4u <= p.xrows; x += 4u) { //#if count == 4
    //: for (var x = p.xrows & 0xfffffffcu; x < p.xrows; x++) { //#if count == 1
      let place = line * p.xrows + x;
      //#if ACROSS > 0
      //#for h in 0..ceil(UNITS * count / ACROSS)
      //#let u = h % HELD
      //#let begin = floor(h * ACROSS / UNITS)
      //: let x_h = i32((x + step(begin, ln)) * p.xmul) + xoff_u; let ok_h = seen_u & (u32(x_h) < p.xlimit);
      //: let held_h = select(zero(), load_a(in0[element(u32(select(0, at_u + x_h, ok_h)), c_u)]), ok_h);
      //#end
      //#else
      //#for q in 0..count, h in 0..UNITS
      let x_h_q = i32((x + q) * p.xmul) + xoff_h; let ok_h_q = seen_h & (u32(x_h_q) < p.xlimit);
      let a_h_q = select(zero(), load_a(in0[element(u32(select(0, at_h + x_h_q, ok_h_q)), c_h)]), ok_h_q);
      //#end
      //#end
      let b_j_q = in1[place]; //#include matmul/columns.wgsl columns_load AT = place; SHIFT = ; COUNT = count
      //#for i in 0..ROWS
      //#let u = WIDE_A ? i >> 2 : i
      //#let l = i & 3
      //#if ACROSS > 0 && (!WIDE_A || l == 0)
      // The unit from the lane that holds it.
      //#for q in 0..count
      //#let flat = q * UNITS + u
      //#let h = floor(flat / ACROSS)
      //#let giver = flat % ACROSS
      //: let a_u_q = subgroupBroadcast(held_h, giver); //#if ACROSS == LANES
      //: let a_u_q = subgroupShuffle(held_h, lane0 + giver); //#if ACROSS != LANES
      //#end
      //#end
      //#let h = u
      //#for q in 0..count, j in 0..VECS
      s_i_j += a_h_q[l] * b_j_q; //#if WIDE_A
      //: s_i_j += a_h_q * b_j_q; //#if !WIDE_A
      //#end
      //#end
    }
    //#end
  }
  //#include matmul/pieces.wgsl store COUNT_ROWS = ROWS; COUNT_VECS = VECS; ROW_IN = r0 + i < p.m; ROW_AT = z * p.cz + (r0 + i) * p.ldc; COLUMN = (c0 + j)
}
