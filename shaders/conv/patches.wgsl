// How the tiled convolutions read blocks: patches of the image as im2col would lay them out, block by block and in no memory of their
// own. Like matmul/blocks.wgsl, each piece makes v_0 to v_3 of steps k to k + 3 and the rows or columns at to at + 3.

alias Acc = f32; //#param Type of the sums.
const DEEP = true; //#param There is a depth axis.
const WIDE_A = true; //#param The image is read four channels at a time.
const WIDE_B = true; //#param The filter, or the gradient, is read four at a time.
const i = 0u; //#index
const q = 0u; //#lane

struct Params { zstep: i32, ystep: i32, xstep: i32, zlimit: u32, ylimit: u32, xlimit: u32, channels: u32, m: u32, n: u32, ldb: u32, zadd: i32, yadd: i32, xadd: i32, ztaps: u32, ytaps: u32, xtaps: u32, zphases: u32, yphases: u32, xphases: u32, zmul: u32, ymul: u32, xmul: u32 }
@group(0) @binding(0) var<storage, read> in0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> in1: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> p: Params;

fn load_a(x: vec4<f32>) -> vec4<f32> { return x; }
fn load_b(x: vec4<f32>) -> vec4<f32> { return x; }
// Whether a position of the image is inside, and its pixel.
fn inside(z: i32, y: i32, x: i32) -> bool { return (u32(z) < p.zlimit) & (u32(y) < p.ylimit) & (u32(x) < p.xlimit); } //#inline DEEP
//: fn inside(z: i32, y: i32, x: i32) -> bool { return (u32(y) < p.ylimit) & (u32(x) < p.xlimit); } //#inline
fn pixel(n: i32, z: i32, y: i32, x: i32) -> i32 { return ((n * i32(p.zlimit) + z) * i32(p.ylimit) + y) * i32(p.xlimit) + x; } //#inline DEEP
//: fn pixel(n: i32, z: i32, y: i32, x: i32) -> i32 { return (n * i32(p.ylimit) + y) * i32(p.xlimit) + x; } //#inline

// The filter's tap for tap u of a phase f.
fn filter_tap(fz: u32, fy: u32, fx: u32, uz: u32, uy: u32, ux: u32) -> u32 { return (((0u * p.ztaps + fz + uz * p.zphases) * p.ytaps + fy + uy * p.yphases) * p.xtaps + fx + ux * p.xphases); } //#inline DEEP
//: fn filter_tap(fz: u32, fy: u32, fx: u32, uz: u32, uy: u32, ux: u32) -> u32 { return ((0u * p.ytaps + fy + uy * p.yphases) * p.xtaps + fx + ux * p.xphases); } //#inline

const TERM = 0u;
const ROW = 0u;

fn blocks(k: u32, k1: u32, at: u32, at0: u32, nz: u32, ny: u32, nx: u32, fz: u32, fy: u32, fx: u32) {
  // A term of the sums as its channel c_S and taps uz_S, uy_S, ux_S.
  //#piece taps TERM S
  let tap_S = TERM / p.channels; let c_S = TERM - tap_S * p.channels;
  let wx_S = tap_S / nx; let ux_S = tap_S - wx_S * nx;
  //#if DEEP
  let wy_S = wx_S / ny; let uy_S = wx_S - wy_S * ny;
  let uz_S = wy_S;
  //#else
  //: let uy_S = wx_S;
  //#end
  //#end

  let z0_A_i = 0i; let y0_A_i = 0i; let x0_A_i = 0i; let n_A_i = 0u;
  let uz_t = 0u; let uy_t = 0u; let ux_t = 0u;
  // Whether the tap t of row i is inside, and its pixel.
  //#piece pixel_of
  let zp_i = z0_A_i + i32(uz_t) * p.zstep; //#if DEEP
  let yp_i = y0_A_i + i32(uy_t) * p.ystep;
  let xp_i = x0_A_i + i32(ux_t) * p.xstep;
  let ok_i = inside(zp_i, yp_i, xp_i);
  let px_i = u32(select(0, pixel(i32(n_A_i), zp_i, yp_i, xp_i), ok_i));
  //#end

  let c_t = 0u;
  // Patches as rows: four places, four terms.
  //#piece patches
  //#if WIDE_A
  //#include conv/patches.wgsl taps TERM = min(k, k1 - 4u); S = t
  //#for i in 0..4
  //#include conv/patches.wgsl pixel_of
  //#end
  let w_i = select(vec4<Acc>(), load_a(in0[px_i * (p.channels / 4u) + c_t / 4u]), ok_i & (k < k1)); //#for i in 0..4
  //: let v_q = vec4(w_0[q], w_1[q], w_2[q], w_3[q]); //#for q in 0..4
  //#else
  //#for q in 0..4
  //: var v_q: vec4<Acc>;
  //: {
  //#include conv/patches.wgsl taps TERM = min(k + q, k1 - 1u); S = t
  //#for i in 0..4
  //#include conv/patches.wgsl pixel_of
  //#end
  //: let e_i = select(Acc(0), load_a(in0[px_i * p.channels + c_t]), ok_i & (k + q < k1)); //#for i in 0..4
  //: v_q = vec4(e_0, e_1, e_2, e_3);
  //: }
  //#end
  //#end
  //#end

  // The filter `[taps, n, channels]`: four columns, four terms.
  //#piece turned_filter
  //#if WIDE_B
  //#include conv/patches.wgsl taps TERM = min(k, k1 - 4u); S = t
  let ft = filter_tap(fz, fy, fx, uz_t, uy_t, ux_t) * p.n;
  let w_i_ = select(vec4<Acc>(), load_b(in1[(ft + min(at + i, p.n - 1u)) * p.ldb + c_t / 4u]), k < k1); //#for i in 0..4
  //: let v_q = vec4(w_0_[q], w_1_[q], w_2_[q], w_3_[q]); //#for q in 0..4
  //#else
  //#for q in 0..4
  //#include conv/patches.wgsl taps TERM = min(k + q, k1 - 1u); S = q
  //: let ft_q = filter_tap(fz, fy, fx, uz_q, uy_q, ux_q) * p.n;
  //: let v_q = select(vec4<Acc>(), vec4(
  //: load_b(in1[(ft_q + min(at + i, p.n - 1u)) * p.ldb + c_q]) //#for i in 0..4 sep ,
  //: ), k + q < k1);
  //#end
  //#end
  //#end

  // The gradient of the filter has taps and channels as rows. Row ROW as its channel tc_S, and what its tap adds to a position.
  //#piece tap_of ROW S
  let tr_S = ROW / p.channels; let tc_S = ROW - tr_S * p.channels;
  let tx_S = tr_S % p.xtaps; let tqx_S = tr_S / p.xtaps;
  let ty_S = tqx_S % p.ytaps; let tqy_S = tqx_S / p.ytaps;
  let tz_S = tqy_S % p.ztaps; //#if DEEP
  let zoff_S = i32(tz_S) * p.zstep + p.zadd; //#if DEEP
  let yoff_S = i32(ty_S) * p.ystep + p.yadd;
  let xoff_S = i32(tx_S) * p.xstep + p.xadd;
  //#end
}
