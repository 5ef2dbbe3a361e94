// Gathering convolution (see conv/places.wgsl) with register blocking and no workgroup memory: rows of the tile are places, columns
// channels of the result, and the sums run over taps and channels of the image. Nothing like im2col's matrix of patches is made:
// each lane follows the images of its rows. For software adapters.

alias A = vec4<f32>; //#param Type of the image's elements, or of four of them.
alias B = vec4<f32>; //#param Type of the filter's elements, or of four of them.
alias C = vec4<f32>; //#param Type of what is stored at once.
alias Acc = f32; //#param Type of the sums.
const ROWS = 4u; //#param Rows of an invocation's tile.
const VECS = 1u; //#param Vectors of four columns of an invocation's tile.
const LANES = 8u; //#param Invocations of a workgroup: one subgroup where lanes share.
const ACROSS = 0u; //#param Lanes of a row of lanes that load together; 0 where each loads its own.
const DEEP = true; //#param There is a depth axis.
const PHASED = false; //#param There is more than one phase.
const WIDE_A = true; //#param The image is read four channels at a time.
const TRANS_B = false; //#param The filter is read transposed: `[taps, columns, channels]`.
const HALF = false; //#param Elements are f16, which are computed with in f32.
// Rows whose image a lane loads: its own, or its share of those of its row of lanes.
const LOADS = 4u; //#let ACROSS == 0 ? ROWS : ceil(ROWS / ACROSS)
const STEP = 4u; //#let WIDE_A ? 4 : 1
const i = 0u; //#index
const j = 0u; //#index
const h = 0u; //#index
const first = 0u; //#index
const giver = 0u; //#index
const q = 0u; //#lane

fn row_of(r0: u32, h: u32, first: u32, ln: u32) -> u32 { return r0 + h; } //#inline ACROSS == 0
//: fn row_of(r0: u32, h: u32, first: u32, ln: u32) -> u32 { return r0 + ln % ROWS; } //#inline ROWS < ACROSS
//: fn row_of(r0: u32, h: u32, first: u32, ln: u32) -> u32 { return r0 + first + ln; } //#inline
fn load_a(x: vec4<f32>) -> vec4<f32> { return x; } //#inline !HALF
//: fn load_a(x: vec4<f16>) -> vec4<f32> { return vec4<f32>(x); } //#inline WIDE_A
//: fn load_a(x: f16) -> f32 { return f32(x); } //#inline

// The row of the filter, or column of the transposed one, where a step begins.
//: fn step_of(kb: u32, k: u32) -> u32 { return k; } //#inline TRANS_B
fn step_of(kb: u32, k: u32) -> u32 { return kb + k; } //#inline

// Whether row i is stored, and where.
//: fn stored_in(r0: u32, i: u32, to: u32) -> bool { return to != 0xffffffffu; } //#inline PHASED
fn stored_in(r0: u32, i: u32, to: u32) -> bool { return r0 + i < p.m; } //#inline
//: fn stored_at(r0: u32, i: u32, to: u32) -> u32 { return to; } //#inline PHASED
fn stored_at(r0: u32, i: u32, to: u32) -> u32 { return r0 + i; } //#inline

@group(0) @binding(0) var<storage, read> in0: array<A>;
@group(0) @binding(1) var<storage, read> in1: array<B>;
@group(0) @binding(2) var<storage, read_write> out0: array<C>;
struct Params {
  m: u32,
  n: u32,
  channels: u32,
  ldb: u32,
  ldc: u32,
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

//#slot finish The epilogue, as a function that gives what is stored for a sum.
fn finish(v: vec4<f32>, at: u32, column: u32) -> C { return v; }
//#end

@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let r0 = 0u; let c0 = 0u; let ln = lidx; //#include matmul/lanes.wgsl place
  let fz = 0u; let fy = 0u; let fx = 0u; let nz = 1u; let ny = 1u; let nx = 1u; //#include conv/places.wgsl phase PHASE = (wid.z + p.zbase)
  //#for h in 0..LOADS
  //#let first = h * ACROSS % ROWS
  let n_h = 0u; let z_h = 0u; let y_h = 0u; let x_h = 0u; //#include conv/places.wgsl split ROW = min(row_of(r0, h, first, ln), p.m - 1u); S = h
  let z0_h = 0i; let y0_h = 0i; let x0_h = 0i; //#include conv/places.wgsl origin S = h
  //#end
  //#include matmul/columns.wgsl columns_setup BASE = 0u
  var s_i_j = vec4<Acc>(); //#for i in 0..ROWS, j in 0..VECS
  // One loop for each axis; the position of each row is narrowed axis by axis.
  //#if DEEP
  for (var uz = 0u; uz < nz; uz++) {
    //#for h in 0..LOADS
    let zp_h = z0_h + i32(uz) * p.zstep;
    let zin_h = u32(zp_h) < p.zlimit;
    let zb_h = i32(n_h) * i32(p.zlimit) + zp_h;
    //#end
    let tz = 0u * p.ztaps + fz + uz * p.zphases;
  //#end
    for (var uy = 0u; uy < ny; uy++) {
      //#for h in 0..LOADS
      let yp_h = y0_h + i32(uy) * p.ystep;
      let yin_h = zin_h & (u32(yp_h) < p.ylimit); //#if DEEP
      //: let yin_h = u32(yp_h) < p.ylimit; //#if !DEEP
      let yb_h = zb_h * i32(p.ylimit) + yp_h; //#if DEEP
      //: let yb_h = i32(n_h) * i32(p.ylimit) + yp_h; //#if !DEEP
      //#end
      let ty = tz * p.ytaps + fy + uy * p.yphases; //#if DEEP
      //: let ty = 0u * p.ytaps + fy + uy * p.yphases; //#if !DEEP
      for (var ux = 0u; ux < nx; ux++) {
        //#for h in 0..LOADS
        let xp_h = x0_h + i32(ux) * p.xstep;
        let xin_h = yin_h & (u32(xp_h) < p.xlimit);
        let xb_h = yb_h * i32(p.xlimit) + xp_h;
        //#end
        let tx = ty * p.xtaps + fx + ux * p.xphases;
        let kb = tx * p.channels; //#if !TRANS_B
        //: let kb = tx * p.n * p.ldb; //#if TRANS_B
        let ai_h = u32(select(0, xb_h, xin_h)) * (p.channels / 4u); //#for h in 0..WIDE_A ? LOADS : 0
        //: let ai_h = u32(select(0, xb_h, xin_h)) * p.channels; //#for h in 0..WIDE_A ? 0 : LOADS
        for (var k = 0u; k < p.channels; k += STEP) {
          let a_h = select(vec4<Acc>(), load_a(in0[ai_h + k / 4u]), xin_h); //#for h in 0..WIDE_A ? LOADS : 0
          //: let a_h = select(Acc(0), load_a(in0[ai_h + k]), xin_h); //#for h in 0..WIDE_A ? 0 : LOADS
          let b_j_q = in1[kb + k]; //#include matmul/columns.wgsl columns_load AT = step_of(kb, k); SHIFT = + kb; COUNT = STEP
          //#for i in 0..ROWS
          //#if ACROSS > 0
          //#let h = floor(i / ACROSS)
          //#let giver = i % ACROSS
          //: let x_i = subgroupBroadcast(a_h, giver); //#if ACROSS == LANES
          //: let x_i = subgroupShuffle(a_h, lane0 + giver); //#if ACROSS != LANES
          //#for q in 0..STEP, j in 0..VECS
          //: s_i_j += x_i[q] * b_j_q; //#if WIDE_A
          //: s_i_j += x_i * b_j_q; //#if !WIDE_A
          //#end
          //#else
          //#let h = i
          //#for q in 0..STEP, j in 0..VECS
          s_i_j += a_h[q] * b_j_q; //#if WIDE_A
          //: s_i_j += a_h * b_j_q; //#if !WIDE_A
          //#end
          //#end
          //#end
        }
      }
    }
  } //#if DEEP
  //#if PHASED
  // Where the result of each row goes; the largest number is nowhere.
  //#for h in 0..LOADS
  //#let first = h * ACROSS % ROWS
  //#include conv/places.wgsl out S = h
  //: let o_h = select(0xffffffffu, out_pixel(n_h, zo_h, yo_h, xo_h), (row_of(r0, h, first, ln) < p.m) & out_inside(zo_h, yo_h, xo_h));
  //#end
  //#for i in 0..ROWS
  //#let h = ACROSS == 0 ? i : floor(i / ACROSS)
  //#let giver = i % ACROSS
  //: let to_i = o_h; //#if ACROSS == 0
  //: let to_i = subgroupBroadcast(o_h, giver); //#if ACROSS > 0 && ACROSS == LANES
  //: let to_i = subgroupShuffle(o_h, lane0 + giver); //#if ACROSS > 0 && ACROSS != LANES
  //#end
  //#end
  //#include matmul/pieces.wgsl store COUNT_ROWS = ROWS; COUNT_VECS = VECS; ROW_IN = stored_in(r0, i, to_i); ROW_AT = stored_at(r0, i, to_i) * p.ldc; COLUMN = (c0 + j)
}
