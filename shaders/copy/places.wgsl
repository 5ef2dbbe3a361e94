// From an index of a copy's result to a place in its input, axis by axis. Each axis has a rule (see src/engine/kernels/copy/map.ts): 0 plain;
// windows, whose places outside are filled, with a step of 1 (1), -1 (2), more (3), less (4); mirrored with (6) or without (5) its
// border repeated; rolled (7). Coordinates are u32 and wrap: what lies before a window becomes huge and fails the one comparison.

const RULES = array(1); //#param The rule of each axis, outermost first.
const RANK = 1; //#param Number of axes.
const LAST = 0; //#let RANK - 1
const QUAD = false; //#param Four neighbours along a plain last axis are stored at once.
const GUARDED = true; //#param Some places are read from nowhere.
const d = 0; //#index

struct Params { base: u32, d_d: u32, s_d: u32, b_d: u32, e_d: u32, k_d: u32 }
@group(0) @binding(0) var<uniform> p: Params;

fn places(i: u32) {
  // Index i as the place o, and whether it is one: ok.
  //#piece place
  var r = i;
  //#for d = LAST; d > 0; d--
  let q_d = r / p.d_d;
  let c_d = (r - q_d * p.d_d); //#if !QUAD || d < LAST
  //: let c_d = (r - q_d * p.d_d) * 4u; //#if QUAD && d == LAST
  r = q_d;
  //#end
  let c_0 = r; //#if !QUAD || LAST > 0
  //: let c_0 = r * 4u; //#if QUAD && LAST == 0
  var o = p.base;
  var ok = true; //#if GUARDED
  //#for d in 0..RANK
  //#let rule = RULES[d]
  //#if rule == 0
  //: o += c_d * p.s_d;
  //#elif rule <= 2
  let t_d = c_d - p.b_d; //#if rule == 1
  //: let t_d = p.b_d - c_d; //#if rule == 2
  ok &= t_d < p.e_d;
  o += t_d * p.s_d;
  //#elif rule <= 4
  //: let w_d = c_d - p.b_d; //#if rule == 3
  //: let w_d = p.b_d - c_d; //#if rule == 4
  //: let t_d = w_d / p.k_d;
  //: ok &= (t_d < p.e_d) & (t_d * p.k_d == w_d);
  //: o += t_d * p.s_d;
  //#elif rule <= 6
  //: var t_d = c_d - p.b_d;
  //: t_d = select(t_d, 0u - t_d - 0u, c_d < p.b_d); //#if rule == 5
  //: t_d = select(t_d, 0u - t_d - 1u, c_d < p.b_d); //#if rule == 6
  //: t_d = select(t_d, 2u * p.e_d - 2u - t_d, t_d >= p.e_d); //#if rule == 5
  //: t_d = select(t_d, 2u * p.e_d - 1u - t_d, t_d >= p.e_d); //#if rule == 6
  //: o += t_d * p.s_d;
  //#else
  //: var t_d = c_d + p.b_d;
  //: t_d = select(t_d, t_d - p.e_d, t_d >= p.e_d);
  //: o += t_d * p.s_d;
  //#end
  //#end
  //#end
}
