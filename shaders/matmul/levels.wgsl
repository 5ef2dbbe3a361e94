// A few rows of x times rows of levels: whole numbers of BITS bits in blocks, each block with a scale and perhaps a zero of its own.
// Reading the levels is what it costs. LANES invocations share a row of levels, word by word, and add their parts as a tree in
// workgroup memory.

alias X = f32; //#param Type of the elements of x.
alias C = f32; //#param Type of results.
const BITS = 4u; //#param Bits of a level: 2, 4 or 8.
const BLOCK_WORDS = 4u; //#param Words of levels of a block.
const EACH = false; //#param Each block has a zero of its own.
const TAIL = false; //#param The last levels of a row may have no element of x.
const VECTORS = 1u; //#param Rows of x.
const ROWS = 1u; //#param Rows of levels that an invocation sums.
const THREADS = 64u; //#param Invocations of a workgroup; a multiple of LANES.
const LANES = 32u; //#param Invocations that share a row; a power of two.
const PER = 8u; //#let 32 / BITS
const MOST = 15u; //#let BITS == 2 ? 3 : BITS == 4 ? 15 : 255
const ROWS_OF_GROUP = 2u; //#let THREADS / LANES * ROWS
const PARTS = 64u; //#let THREADS * ROWS * VECTORS
const i = 0u; //#index
const j = 0u; //#index
const l = 0u; //#index
const s = 0u; //#index
const half = 16u; //#index
const start = 0u; //#index
const other = 16u; //#index
const bit = 0u; //#index

fn at_x(at: u32, k: u32) -> f32 { return f32(in0[at]); } //#inline !TAIL
//: fn at_x(at: u32, k: u32) -> f32 { return select(0.0, f32(in0[min(at, p.last)]), k < p.k); } //#inline
fn zero(block: u32) -> f32 { return in3[0u]; } //#inline !EACH
//: fn zero(block: u32) -> f32 { return in3[block]; } //#inline

@group(0) @binding(0) var<storage, read> in0: array<X>;
@group(0) @binding(1) var<storage, read> in1: array<i32>;
@group(0) @binding(2) var<storage, read> in2: array<f32>;
@group(0) @binding(3) var<storage, read> in3: array<f32>;
@group(0) @binding(4) var<storage, read_write> out0: array<C>;
struct Params {
  rows: u32,
  k: u32,
  words: u32,
  blocks: u32,
  last: u32,
}
@group(0) @binding(5) var<uniform> p: Params;
var<workgroup> part: array<f32, PARTS>; //#if LANES > 1

//#slot finish The epilogue, as a function that gives what is stored for a sum.
fn finish(v: f32, at: u32, column: u32) -> C { return v; }
//#end

@compute @workgroup_size(THREADS)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let row0 = (wid.x + wid.y * nwg.x) * ROWS_OF_GROUP + lidx / LANES * ROWS;
  let lane = lidx % LANES;
  let r_i = min(row0 + i, p.rows - 1u); //#for i in 0..ROWS
  var s_i_j = 0.0; //#for i in 0..ROWS, j in 0..VECTORS
  for (var w = lane; w < p.words; w += LANES) {
    let k = w * PER;
    let x_j_l = at_x(j * p.k + k + l, k + l); //#for j in 0..VECTORS, l in 0..PER
    //#for i in 0..ROWS
    {
      let word = bitcast<u32>(in1[r_i * p.words + w]);
      let block = r_i * p.blocks + w / BLOCK_WORDS;
      let offset = zero(block);
      let scale = in2[block];
      //#for l in 0..PER
      //#let bit = l * BITS
      let q_l = (f32((word >> bit) & MOST) - offset) * scale;
      s_i_j += q_l * x_j_l; //#for j in 0..VECTORS
      //#end
    }
    //#end
  }
  //#if LANES > 1
  //#for i in 0..ROWS, j in 0..VECTORS
  //#let start = (i * VECTORS + j) * THREADS
  part[start + lidx] = s_i_j;
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
      let at = j * p.rows + row0 + i;
      let r = part[start + lidx]; //#if LANES > 1
      //: let r = s_i_j; //#if LANES == 1
      out0[at] = finish(r, at, row0 + i);
    }
    //#end
  }
  //#end
}
