// Gradient of a convolution's filter by the tiled kernel: rows are taps and channels of the image, columns channels of the incoming
// gradient, sums run over places. Blocks of patches, this time as columns, and of the gradient are staged in workgroup memory.

alias A = vec4<f32>; //#param Type of the image's elements, or of four of them.
alias B = vec4<f32>; //#param Type of the gradient's elements, or of four of them.
alias C = vec4<f32>; //#param Type of what is stored at once.
alias Acc = f32; //#param Type of the sums.
const BM = 32u; //#param Rows of a workgroup's tile.
const BN = 32u; //#param Columns of a workgroup's tile.
const BK = 32u; //#param Steps of the sums that are staged at once.
const TM = 4u; //#param Rows of an invocation's tile.
const TN = 4u; //#param Columns of an invocation's tile.
const DEEP = true; //#param There is a depth axis.
const WIDE_A = true; //#param The image is read four channels at a time.
const WIDE_B = true; //#param The gradient is read, and the result stored, four channels at a time.
const HALF = false; //#param Elements are f16, which are computed with in f32.
const SPLIT = false; //#param Several workgroups share a sum; each stores its part.
const THREADS = 64u; //#let BM / TM * (BN / TN)
const ACROSS = 8u; //#let BN / TN
const DOWN = 8u; //#let BM / TM
const ROW_BLOCKS = 8u; //#let BM / 4
const COLUMN_BLOCKS = 8u; //#let BN / 4
const i = 0u; //#index
const j = 0u; //#index
const q = 0u; //#lane
const first = 0u; //#index
const rest = 64u; //#index

fn load_a(x: vec4<f32>) -> vec4<f32> { return x; } //#inline !HALF
//: fn load_a(x: vec4<f16>) -> vec4<f32> { return vec4<f32>(x); } //#inline WIDE_A
//: fn load_a(x: f16) -> f32 { return f32(x); } //#inline
fn load_b(x: vec4<f32>) -> vec4<f32> { return x; } //#inline !HALF
//: fn load_b(x: vec4<f16>) -> vec4<f32> { return vec4<f32>(x); } //#inline WIDE_B
//: fn load_b(x: f16) -> f32 { return f32(x); } //#inline
//: fn slice(z: u32, zs: u32) -> u32 { return zs; } //#inline SPLIT
fn slice(z: u32, zs: u32) -> u32 { return z; } //#inline
fn row_of(r0: u32, ty: u32, i: u32) -> u32 { return (r0 + (ty + i / 4u * DOWN) * 4u + i % 4u); } //#inline
fn seen(step: bool, z: i32, y: i32, x: i32) -> bool { return step & (u32(z) < p.zlimit) & (u32(y) < p.ylimit) & (u32(x) < p.xlimit); } //#inline DEEP
//: fn seen(step: bool, z: i32, y: i32, x: i32) -> bool { return step & (u32(y) < p.ylimit) & (u32(x) < p.xlimit); } //#inline

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
  channels: u32,
  ldb: u32,
  zrows: u32, zmul: u32, zadd: i32, zstep: i32, zlimit: u32, ztaps: u32, zphases: u32, zomul: u32, zoadd: i32, zolimit: u32, //#if DEEP
  yrows: u32, ymul: u32, yadd: i32, ystep: i32, ylimit: u32, ytaps: u32, yphases: u32, yomul: u32, yoadd: i32, yolimit: u32,
  xrows: u32, xmul: u32, xadd: i32, xstep: i32, xlimit: u32, xtaps: u32, xphases: u32, xomul: u32, xoadd: i32, xolimit: u32,
}
@group(0) @binding(3) var<uniform> p: Params;
var<workgroup> sa: array<array<vec4<Acc>, ROW_BLOCKS>, BK>;
var<workgroup> sb: array<array<vec4<Acc>, COLUMN_BLOCKS>, BK>;

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
  //: let k0 = p.kfrom + zk * p.kstep; let k1 = min(k0 + p.kstep, p.k); //#if SPLIT
  let k0 = p.kfrom; let k1 = p.k; //#if !SPLIT
  // The taps of the invocation's first block of rows.
  let at0 = r0 + lidx % ROW_BLOCKS * 4u;
  //#if WIDE_A
  let tc_A = 0u; let zoff_A = 0i; let yoff_A = 0i; let xoff_A = 0i; //#include conv/patches.wgsl tap_of ROW = min(at0, p.m - 4u); S = A
  //#else
  //#for i in 0..4
  //#include conv/patches.wgsl tap_of ROW = min(at0 + i, p.m - 1u); S = i
  //#end
  //#end
  var s_i_j = vec4<Acc>(); //#for i in 0..TM, j in 0..TN / 4
  for (var kt = k0; kt < k1; kt += BK) {
    //#for first = 0; first < BM * BK / 16; first += THREADS
    //#let rest = BM * BK / 16 - first
    if (lidx < rest) { //#if rest < THREADS
    //: { //#if rest >= THREADS
      let t = lidx + first; let bi = t % ROW_BLOCKS; let bq = t / ROW_BLOCKS;
      let at = r0 + bi * 4u; let k = kt + bq * 4u;
      //#for q in 0..4
      let n_q = 0u; let z_q = 0u; let y_q = 0u; let x_q = 0u; //#include conv/places.wgsl split ROW = min(k + q, k1 - 1u); S = q
      //#if WIDE_A
      let zp_q = i32(z_q * p.zmul) + zoff_A; //#if DEEP
      let yp_q = i32(y_q * p.ymul) + yoff_A;
      let xp_q = i32(x_q * p.xmul) + xoff_A;
      let ok_q = seen(k + q < k1, zp_q, yp_q, xp_q);
      let px_q = u32(select(0, pixel(i32(n_q), zp_q, yp_q, xp_q), ok_q));
      let v_q = select(vec4<Acc>(), load_a(in0[px_q * (p.channels / 4u) + tc_A / 4u]), ok_q);
      //#else
      //#for i in 0..4
      //: let zp_i_q = i32(z_q * p.zmul) + zoff_i; //#if DEEP
      //: let yp_i_q = i32(y_q * p.ymul) + yoff_i;
      //: let xp_i_q = i32(x_q * p.xmul) + xoff_i;
      //: let ok_i_q = seen(k + q < k1, zp_i_q, yp_i_q, xp_i_q);
      //: let px_i_q = u32(select(0, pixel(i32(n_q), zp_i_q, yp_i_q, xp_i_q), ok_i_q));
      //#end
      //: let v_q = vec4(
      //: select(Acc(0), load_a(in0[px_i_q * p.channels + tc_i]), ok_i_q) //#for i in 0..4 sep ,
      //: );
      //#end
      //#end
      sa[bq * 4u + q][bi] = v_q; //#for q in 0..4
    }
    //#end
    //#if WIDE_B
    sb[0][0] = vec4<Acc>(); //#include matmul/blocks.wgsl panel BUFFER = in1; LOAD = load_b; BASE = 0u; STRIDE = p.ldb; EXTENT = p.n; INNER = false; SIDE = BN; BLOCKS = COLUMN_BLOCKS; ORIGIN = c0; PANEL = sb
    //#else
    //#for first = 0; first < BN * BK / 16; first += THREADS
    //#let rest = BN * BK / 16 - first
    //: if (lidx < rest) { //#if rest < THREADS
    //: { //#if rest >= THREADS
      //: let t = lidx + first; let bi = t % COLUMN_BLOCKS; let bq = t / COLUMN_BLOCKS;
      //: let at = c0 + bi * 4u; let k = kt + bq * 4u;
      //: let v_q = in1[at + k]; //#include matmul/blocks.wgsl plain BUFFER = in1; LOAD = load_b; BASE = 0u; STRIDE = p.ldb; EXTENT = p.n; ALONG_K = false; WIDE = WIDE_B; INNER = false
      //: sb[bq * 4u + q][bi] = v_q; //#for q in 0..4
    //: }
    //#end
    //#end
    workgroupBarrier();
    //#include matmul/tile.wgsl products
    workgroupBarrier();
  }
  //#include matmul/pieces.wgsl store COUNT_ROWS = TM; COUNT_VECS = TN / 4; ROW_IN = row_of(r0, ty, i) < p.m; ROW_AT = p.cbase + slice(z, zs) * p.cz + row_of(r0, ty, i) * p.ldc; COLUMN = (c0 / 4u + tx + j * ACROSS)
}

// A pixel of the image; see conv/places.wgsl.
fn pixel(n: i32, z: i32, y: i32, x: i32) -> i32 { return ((n * i32(p.zlimit) + z) * i32(p.ylimit) + y) * i32(p.xlimit) + x; } //#inline DEEP
//: fn pixel(n: i32, z: i32, y: i32, x: i32) -> i32 { return (n * i32(p.ylimit) + y) * i32(p.xlimit) + x; } //#inline
