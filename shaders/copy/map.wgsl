// Copies: one kernel serves transpose, slice, pad, mirror pad, tile, broadcast, reverse, roll and diagonals, as the rules of its axes
// say (copy/places.wgsl). An invocation moves one element or one vector (`Element` is then a vector), or gathers four: along a plain
// last axis (QUAD) or anywhere (FOUR).

alias Word = u32; //#param Type of one element.
alias Element = u32; //#param Type of what is read at once.
alias Stored = u32; //#param Type of what is stored at once.
const RULES = array(1); //#param The rule of each axis, outermost first.
const QUAD = false; //#param Four neighbours along a plain last axis are stored at once.
const FOUR = false; //#param Four neighbours anywhere are stored at once.
const GUARDED = true; //#param Some places are read from nowhere.
const FILLED = false; //#param Another input holds the element for these; else zero.
const FILL = 0.0; //#text The binding of that input.
const PIECED = false; //#param The input takes several bindings and is read by `read0`.
const RANK = 1; //#param Number of axes.
const LAST = 0; //#let RANK - 1
const WORKGROUP = 256u; //#let 256
const d = 0; //#index

fn load_at(at: u32) -> u32 { return in0[at]; } //#inline !PIECED
//: fn load_at(at: u32) -> u32 { return read0(at); } //#inline
//: fn zero() -> u32 { return Element(FILL[0]); } //#inline FILLED
fn zero() -> u32 { return Element(); } //#inline

@group(0) @binding(0) var<storage, read> in0: array<Element>; //#if !PIECED
@group(0) @binding(1) var<storage, read_write> out0: array<Stored>;
struct Params {
  n: u32,
  first: u32,
  base: u32,
  //#for d in 0..RANK
  d_d: u32, s_d: u32,
  b_d: u32, e_d: u32, //#if RULES[d] > 0
  k_d: u32, //#if RULES[d] == 3 || RULES[d] == 4
  //#end
}
@group(0) @binding(2) var<uniform> p: Params;

//#slot source Declares `read0`, which reads an input of several bindings as one.
//#end
//#if FOUR
//: fn at(i: u32) -> Element {
//#include copy/places.wgsl place
//: var v = zero(); //#if GUARDED
//: if (ok) { v = load_at(o); } //#if GUARDED
//: let v = load_at(o); //#if !GUARDED
//: return v;
//: }
//#end

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let id = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (id >= p.n) { return; }
  //#if FOUR
  //: let i = (p.first + id) * 4u;
  //: out0[id] = vec4<Word>(at(i), at(i + 1u), at(i + 2u), at(i + 3u));
  //#else
  let i = p.first + id;
  let o = i; let ok = true; //#include copy/places.wgsl place
  //#if QUAD
  //#let d = LAST
  //: let s = p.s_d;
  //#if GUARDED
  //: var v = vec4<Word>(zero());
  //: if (ok) { v = vec4<Word>(load_at(o), load_at(o + s), load_at(o + 2u * s), load_at(o + 3u * s)); }
  //: out0[id] = v;
  //#else
  //: out0[id] = vec4<Word>(load_at(o), load_at(o + s), load_at(o + 2u * s), load_at(o + 3u * s));
  //#end
  //#else
  var v = zero(); //#if GUARDED
  if (ok) { v = load_at(o); } //#if GUARDED
  //: let v = load_at(o); //#if !GUARDED
  out0[id] = v;
  //#end
  //#end
}
