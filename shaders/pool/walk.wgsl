// The walk of a window over an image, for pooling and its gradients: over all taps of a window, what a piece BODY does with each. In
// scope there are px, the tap's pixel, and tap, its number; places and first positions come from conv/places.wgsl with the suffix w.
// Afterwards zcount, ycount and xcount are the taps along each axis that lie inside: of the last line walked, which is as good.

//#include eights.wgsl
alias V = f32; //#param Type of what is computed at once: one element, or four.
alias Index = u32; //#param Type of indices that go with them.
alias Flag = bool; //#param Type of conditions of them.
alias Acc = f32; //#param Type in which elements are computed with.
const KIND = 0; //#param Kind of result, numbered as in pool/window.wgsl.
const DEEP = true; //#param There is a depth axis.
const WIDE = false; //#param Four channels at once.
const EIGHTS = false; //#param Eight channels in one load, as two fours.
const FILTERED = false; //#param Each element gets the tap of a filter added first: dilation.
const HALF = false; //#param Elements are f16, which are computed with in f32.
const TAPS_Z = 0; //#param Taps of the depth axis where the program spells them out.
const TAPS_Y = 0; //#param Taps of the second to last axis where the program spells them out; else 0.
const TAPS_X = 0; //#param Taps of the last axis where the program spells them out; else 0.
const RUN = 0; //#param Taps of the last axis, where only these are spelled out, in loops over the others; else 0.
const INSIDE = false; //#param No tap of any window is outside.
const SPELLED = false; //#let TAPS_X > 0
const DEPTH = 1; //#let DEEP ? TAPS_Z : 1
const u = 0; //#index
const h = 0; //#index
const number = 0u; //#index
const COUNT_Z = 1u; //#let TAPS_Z
const COUNT_Y = 1u; //#let TAPS_Y
const COUNT_X = 1u; //#let TAPS_X

fn load(x: f32) -> f32 { return x; } //#inline !HALF
//: fn load(x: f16) -> f32 { return V(x); } //#inline
fn element(px: u32, tap: u32, c: u32) -> f32 { return load(in0[px * p.channels + c]); } //#inline !FILTERED
//: fn element(px: u32, tap: u32, c: u32) -> f32 { return load(in0[px * p.channels + c]) + load(in1[tap * p.channels + c]); } //#inline
fn lowest() -> f32 { return V(p.lowest); } //#inline Acc == "f32"
//: fn lowest() -> i32 { return V(-2147483647 - 1); } //#inline Acc == "i32"
//: fn lowest() -> u32 { return V(0u); } //#inline
fn isnan(x: f32) -> bool { return (bitcast<Index>(x) & Index(0x7fffffffu)) > Index(0x7f800000u); } //#inline
fn pixel(n: u32, z: u32, y: u32, x: u32) -> u32 { return ((n * p.zlimit + z) * p.ylimit + y) * p.xlimit + x; } //#inline DEEP
//: fn pixel(n: u32, z: u32, y: u32, x: u32) -> u32 { return (n * p.ylimit + y) * p.xlimit + x; } //#inline
fn seen(z: u32, y: u32, x: u32) -> bool { return z < p.zlimit && y < p.ylimit && x < p.xlimit; } //#inline DEEP
//: fn seen(z: u32, y: u32, x: u32) -> bool { return y < p.ylimit && x < p.xlimit; } //#inline
fn all_taps(z: u32, y: u32, x: u32) -> u32 { return z * y * x; } //#inline DEEP
//: fn all_taps(z: u32, y: u32, x: u32) -> u32 { return y * x; } //#inline

fn line(uz: u32, uy: u32) -> u32 { return (0u * p.ztaps + uz) * p.ytaps + uy; } //#inline DEEP
//: fn line(uz: u32, uy: u32) -> u32 { return 0u * p.ytaps + uy; } //#inline

struct Params { channels: u32, lowest: f32, zstep: i32, ystep: i32, xstep: i32, zlimit: u32, ylimit: u32, xlimit: u32, ztaps: u32, ytaps: u32, xtaps: u32 }
@group(0) @binding(0) var<storage, read> in0: array<f32>;
@group(0) @binding(1) var<storage, read> in1: array<f32>;
@group(0) @binding(2) var<uniform> p: Params;

fn walks(c: u32, n_w: u32, z0_w: i32, y0_w: i32, x0_w: i32) {
  let px = 0u; let tap = 0u;
  var r = 0.0;
  var best = lowest();
  var where_ = Index(0u);
  var none = true;
  // The work of each KIND of pool/window.wgsl does with a tap.
  //#piece take
  //#if EIGHTS
  //: let w = in0[px * p.channels + c];
  //: let v_0 = low(w);
  //: let v_1 = high(w);
  //#else
  let v = element(px, tap, c);
  //#end
  //#if KIND == 0
  // NaN is never greater.
  r = select(r, v, v > r); //#if !EIGHTS
  //: r_h = select(r_h, v_h, v_h > r_h); //#for h in 0..EIGHTS ? 2 : 0
  //#elif KIND == 1
  r += v; //#if !EIGHTS
  //: r_h += v_h; //#for h in 0..EIGHTS ? 2 : 0
  //#else
  // The first element, then any that is greater; a NaN gives way to a number.
  let take = (v > best) | (isnan(best) & (isnan(v) == Flag(false))) | Flag(none); //#if Acc == "f32"
  //: let take = (v > best) | Flag(none); //#if Acc != "f32"
  best = select(best, v, take);
  where_ = select(where_, Index(tap), take); //#if KIND == 2
  //: where_ = select(where_, Index(px), take); //#if KIND > 2
  none = false;
  //#end
  //#end

  // Where the greatest element stands, what came back for the window; zero elsewhere.
  //#piece give
  //: out0[px * p.channels + c] = store(select(V(0), g, where_ == Index(tap)));
  //#end

  //#piece walk BODY
  //#if SPELLED
  // A block for each tap.
  //#if DEEP
  //: let zp_u = u32(z0_w + u * p.zstep); //#for u in 0..TAPS_Z
  //: let zcount = COUNT_Z; //#if INSIDE
  //#if !INSIDE
  //: let zcount =
  //:   select(0u, 1u, zp_u < p.zlimit) //#for u in 0..TAPS_Z sep +
  //: ;
  //#end
  //#end
  //: let yp_u = u32(y0_w + u * p.ystep); //#for u in 0..TAPS_Y
  //: let ycount = COUNT_Y; //#if INSIDE
  //#if !INSIDE
  //: let ycount =
  //:   select(0u, 1u, yp_u < p.ylimit) //#for u in 0..TAPS_Y sep +
  //: ;
  //#end
  //: let xp_u = u32(x0_w + u * p.xstep); //#for u in 0..TAPS_X
  //: let xcount = COUNT_X; //#if INSIDE
  //#if !INSIDE
  //: let xcount =
  //:   select(0u, 1u, xp_u < p.xlimit) //#for u in 0..TAPS_X sep +
  //: ;
  //#end
  //#for uz in 0..DEPTH, uy in 0..TAPS_Y, ux in 0..TAPS_X
  //#let number = (uz * TAPS_Y + uy) * TAPS_X + ux
  //: { //#if INSIDE
  //: if (seen(zp_uz, yp_uy, xp_ux)) { //#if !INSIDE
  //:   let px = pixel(n_w, zp_uz, yp_uy, xp_ux); let tap = number;
  //#include pool/walk.wgsl BODY
  //: }
  //#end
  //#else
  // Loops over the taps.
  let zcount = p.ztaps; //#if INSIDE && DEEP
  let ycount = p.ytaps; //#if INSIDE
  let xcount = p.xtaps; //#if INSIDE
  //: var zcount = 0u; //#if !INSIDE && DEEP
  //: var ycount = 0u; //#if !INSIDE
  //: var xcount = 0u; //#if !INSIDE
  //#if DEEP
  //: zcount = 0u; //#if !INSIDE
  //: for (var uz = 0u; uz < p.ztaps; uz++) {
  //: let zp = u32(z0_w + i32(uz) * p.zstep);
  //#if !INSIDE
  //: if (zp >= p.zlimit) { continue; }
  //: zcount++;
  //#end
  //#end
  //: ycount = 0u; //#if !INSIDE
  //: for (var uy = 0u; uy < p.ytaps; uy++) {
  //: let yp = u32(y0_w + i32(uy) * p.ystep);
  //#if !INSIDE
  //: if (yp >= p.ylimit) { continue; }
  //: ycount++;
  //#end
  //#if RUN > 0
  //: let px0 = pixel(n_w, zp, yp, u32(x0_w));
  //: let tap0 = line(uz, uy) * p.xtaps;
  //#for number in 0..RUN
  //: { let px = px0 + number * u32(p.xstep); let tap = tap0 + number;
  //#include pool/walk.wgsl BODY
  //: }
  //#end
  //#else
  //: xcount = 0u; //#if !INSIDE
  //: for (var ux = 0u; ux < p.xtaps; ux++) {
  //: let xp = u32(x0_w + i32(ux) * p.xstep);
  //#if !INSIDE
  //: if (xp >= p.xlimit) { continue; }
  //: xcount++;
  //#end
  //: let px = pixel(n_w, zp, yp, xp); let tap = line(uz, uy) * p.xtaps + ux;
  //#include pool/walk.wgsl BODY
  //: }
  //#end
  //: }
  //: } //#if DEEP
  //#end
  //#end
}
