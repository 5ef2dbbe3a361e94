// Pieces of matrix products: which product of a batch, and storing a tile of sums. Kernels take them by `//#include`.

alias Acc = f32; //#param Type of the sums.
const BATCH_RANK = 0; //#param Axes of the loop over products; 0 for one product.
const WIDE_C = true; //#param Results are stored four columns at a time.
const ACCUMULATE = false; //#param Sums are added to what the result holds.
const i = 0u; //#index
const j = 0u; //#index
const l = 0u; //#lane

struct Params { n: u32, col0: u32 }
@group(0) @binding(0) var<storage, read_write> out0: array<vec4<f32>>;
@group(0) @binding(1) var<uniform> p: Params;

// The epilogue: what is stored for a sum.
fn finish(v: vec4<f32>, at: u32, column: u32) -> vec4<f32> { return v; }
// The sum with what the result holds already.
//: fn four(sum: vec4<f32>, at: u32) -> vec4<f32> { return sum + vec4<Acc>(out0[at]); } //#inline ACCUMULATE
fn four(sum: vec4<f32>, at: u32) -> vec4<f32> { return sum; } //#inline
//: fn one(sum: f32, at: u32) -> f32 { return sum + Acc(out0[at]); } //#inline ACCUMULATE
fn one(sum: f32, at: u32) -> f32 { return sum; } //#inline

// Where the matrices of product z begin: za in A, zb in B. Offsets are premultiplied.
fn batch(z: u32) {
  //#piece batch
  //#if BATCH_RANK == 0
  let za = 0u; let zb = 0u;
  //#else
  //#for d = BATCH_RANK - 1; d > 0; d--
  //#let outer = d + 1
  //: let zx_d = z % p.bd_d; let zr_d = z / p.bd_d; //#if outer == BATCH_RANK
  //: let zx_d = zr_outer % p.bd_d; let zr_d = zr_outer / p.bd_d; //#if outer < BATCH_RANK
  //#end
  //: let za =
  //: zx_d * p.ba_d + //#for d = BATCH_RANK - 1; d > 0; d--
  //: z * p.ba_0; //#if BATCH_RANK == 1
  //: zr_1 * p.ba_0; //#if BATCH_RANK > 1
  //: let zb =
  //: zx_d * p.bb_d + //#for d = BATCH_RANK - 1; d > 0; d--
  //: z * p.bb_0; //#if BATCH_RANK == 1
  //: zr_1 * p.bb_0; //#if BATCH_RANK > 1
  //#end
  //#end
}

const COUNT_ROWS = 1;
const COUNT_VECS = 1;
const ROW_IN = true;
const ROW_AT = 0u;
const COLUMN = 0u;

// Stores the sums s_i_j through the epilogue. ROW_IN says whether row i exists, ROW_AT where its first column lies (in what is
// stored at once), COLUMN is the vector of columns j. Columns beyond p.n are left out.
fn store() {
  var s_i_j = vec4<Acc>();
  //#piece store COUNT_ROWS COUNT_VECS ROW_IN ROW_AT COLUMN
  //#for i in 0..COUNT_ROWS
  if (ROW_IN) {
    let at = ROW_AT;
    //#for j in 0..COUNT_VECS
    //#if WIDE_C
    if (COLUMN * 4u < p.n) { out0[at + COLUMN] = finish(four(s_i_j, at + COLUMN), at + COLUMN, p.col0 + COLUMN); }
    //#else
    //#for l in 0..4
    //: if (COLUMN * 4u + l < p.n) { out0[at + (COLUMN * 4u + l)] = finish(one(s_i_j[l], at + (COLUMN * 4u + l)), at + (COLUMN * 4u + l), p.col0 + (COLUMN * 4u + l)); }
    //#end
    //#end
    //#end
  }
  //#end
  //#end
}
