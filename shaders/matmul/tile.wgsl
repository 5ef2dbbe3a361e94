// The workgroup's tile of a tiled kernel: BM x BN sums, of which each invocation keeps TM x TN in registers. Blocks of BK steps of
// both operands ("panels") are staged in workgroup memory: sa and sb hold vectors of four rows of A, or columns of B, step by step. A
// step is an array of its own, so that its index is a constant and only the place in it is checked, once for all steps.

const BM = 32u; //#param Rows of a workgroup's tile.
const BN = 32u; //#param Columns of a workgroup's tile.
const BK = 32u; //#param Steps of the sums that are staged at once.
const TM = 4u; //#param Rows of an invocation's tile.
const TN = 4u; //#param Columns of an invocation's tile.
const BAND = 8u; //#let 8
const ACROSS = 8u; //#let BN / TN
const DOWN = 8u; //#let BM / TM
const i = 0u; //#index
const j = 0u; //#index
const h = 0u; //#index
const stage = 0u; //#index
const l = 0u; //#lane
const later = 0u; //#index

struct Params { groups: u32, rowgroups: u32 }
@group(0) @binding(0) var<uniform> p: Params;
var<workgroup> sa: array<array<vec4<f32>, 8>, 32>;
var<workgroup> sb: array<array<vec4<f32>, 8>, 32>;

fn pieces(wid: vec3<u32>, nwg: vec3<u32>, lidx: u32) {
  // Bands of rows, column by column: workgroups that run together read few blocks, so that these stay in the cache.
  //#piece place
  let g = wid.x + wid.y * nwg.x;
  if (g >= p.groups) { return; }
  let band = BAND * (p.groups / p.rowgroups); let top = g / band * BAND; let inBand = g % band;
  let height = min(BAND, p.rowgroups - top);
  let gm = top + inBand % height; let gn = inBand / height;
  let r0 = gm * BM; let c0 = gn * BN;
  //#if ACROSS % 8 == 0 && DOWN % 4 == 0
  // 32 neighbours are 8 x 4 tiles: they read the fewest vectors of both panels together.
  let tile = lidx / 32u; let tx = tile % (ACROSS / 8u) * 8u + lidx % 8u; let ty = tile / (ACROSS / 8u) * 4u + lidx / 8u % 4u;
  //#else
  //: let tx = lidx % ACROSS; let ty = lidx / ACROSS;
  //#end
  //#end

  var s_i_j = vec4<f32>();
  // Adds the products of all staged steps.
  //#piece products
  //#for stage in 0..BK
  {
    //#for h in 0..TM / 4
    //#let later = h * DOWN
    let a_h = sa[stage][ty + later];
    //#end
    //#for j in 0..TN / 4
    //#let later = j * ACROSS
    let b_j = sb[stage][tx + later];
    //#end
    //#for i in 0..TM
    //#let h = i >> 2
    //#let l = i & 3
    s_i_j += a_h[l] * b_j; //#for j in 0..TN / 4
    //#end
  }
  //#end
  //#end
}
