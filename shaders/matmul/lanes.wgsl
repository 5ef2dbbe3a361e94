// How a kernel without workgroup memory lays its invocations ("lanes") over the result: each sums a tile of ROWS rows and
// VECS vectors of four columns in its registers. Lanes side by side form a row of lanes; where ACROSS > 0 they are that many
// and load rows together by subgroup operations: on a software adapter a load costs as much as a hundred multiplications
// however few lanes it serves, an exchange between lanes next to nothing.

const ROWS = 4u; //#param Rows of an invocation's tile.
const VECS = 1u; //#param Vectors of four columns of an invocation's tile.
const LANES = 8u; //#param Invocations of a workgroup: one subgroup where lanes share.
const ACROSS = 0u; //#param Lanes of a row of lanes that load together; 0 where each loads its own.
const ACROSS_SHIFT = 0u; //#let log2(max(1, ACROSS))
const ACROSS_MASK = 0u; //#let ACROSS - 1

struct Params { m: u32, n: u32, groups: u32, rowgroups: u32, lanemask: u32, laneshift: u32 }
@group(0) @binding(0) var<uniform> p: Params;

fn pieces(wid: vec3<u32>, nwg: vec3<u32>, lidx: u32) {
  // The first row r0 of a lane's tile, its first vector of columns c0, its place ln in its row of lanes.
  //#piece place
  let g = wid.x + wid.y * nwg.x;
  if (g >= p.groups) { return; }
  let gm = g % p.rowgroups; let gn = g / p.rowgroups;
  //#if ACROSS == 0
  let ln = lidx & p.lanemask; let lm = lidx >> p.laneshift; let lane0 = lidx - ln;
  let r0 = (gm * (LANES >> p.laneshift) + lm) * ROWS;
  let c0 = (gn * (p.lanemask + 1u) + ln) * VECS;
  if (r0 >= p.m || c0 * 4u >= p.n) { return; }
  //#else
  // Lanes that share must all stay.
  //: let ln = lidx & ACROSS_MASK; let lm = lidx >> ACROSS_SHIFT; let lane0 = lidx - ln;
  //: let r0 = (gm * (LANES >> ACROSS_SHIFT) + lm) * ROWS;
  //: let c0 = (gn * ACROSS + ln) * VECS;
  //#end
  //#end
}
