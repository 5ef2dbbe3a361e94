// A stage of Fourier transforms of lines (Stockham): an invocation combines numbers that lie a RADIX-th of the line apart, turns the sums
// and writes them next to each other, so that the last stage leaves them in order. The first stage reads what a tensor holds, the last one
// writes what another shall. A line's numbers are `inner` apart. Inverse transforms are those of conjugates.

const RADIX = 4u; //#param 2, 4 or 8; 0: any number, of which an invocation makes one result.
const LOAD = 0; //#param 0: complex numbers; 1: real ones, cut or followed by zeros; 2: half spectra; 3: pairs of real ones; 4: half spectra of pairs.
const STORE = 0; //#param 0: complex numbers; 1: real ones, cut; 2: the first half of spectra; 3: pairs of real ones.
const INVERSE = false; //#param Reads conjugates.
const CONJUGATE = false; //#param Writes conjugates.
const PLAIN = false; //#param Every turn is by nothing: the last stage.
alias Element = vec2<f32>; //#param Type of what is read.
alias Result = vec2<f32>; //#param Type of what is written.
const WORKGROUP = 64u; //#let 64

@group(0) @binding(0) var<storage, read> x: array<Element>;
@group(0) @binding(1) var<storage, read_write> y: array<Result>;
struct Params {
  n: u32,
  radix: u32,
  length: u32,
  // A RADIX-th of the length, and of that the factor that earlier stages have brought in order.
  part: u32,
  step: u32,
  inner: u32,
  given: u32,
  made: u32,
  // Factors of half spectra's inner numbers, and of those at their ends or of all.
  read_by: f32,
  inner_by: f32,
  by: f32,
}
@group(0) @binding(2) var<uniform> p: Params;

//#include fourier/turn.wgsl functions
fn turn(j: u32, n: u32) -> vec2<f32> { return vec2<f32>(f32(j), f32(n)); } //#alone
fn times(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> { return a * b; } //#alone

//: fn turned(v: vec2<f32>, j: u32, n: u32) -> vec2<f32> { return v; } //#if PLAIN
fn turned(v: vec2<f32>, j: u32, n: u32) -> vec2<f32> { return times(v, turn(j, n)); } //#if !PLAIN

//#if LOAD == 4
//: fn bin_at(line: u32, i: u32) -> vec2<f32> {
//:   if (i >= p.given) { return vec2<f32>(0.0, 0.0); }
//:   let z = x[line * p.given + i];
//:   return select(p.read_by * z, vec2<f32>(z.x, 0.0), (i == 0u) | (i == p.length));
//: }
//#end

fn load_at(line: u32, i: u32, column: u32) -> vec2<f32> {
  //#if LOAD == 0
  let v = x[(line * p.given + i) * p.inner + column];
  //#elif LOAD == 1
  //: if (i >= p.given) { return vec2<f32>(0.0, 0.0); }
  //: let v = vec2<f32>(x[line * p.given + i], 0.0);
  //#elif LOAD == 3
  //: let first = 2u * i;
  //: if (first >= p.given) { return vec2<f32>(0.0, 0.0); }
  //: let at = line * p.given + first;
  //: var v = vec2<f32>(x[at], 0.0);
  //: if (first + 1u < p.given) { v.y = x[at + 1u]; }
  //#elif LOAD == 4
  //: let a = bin_at(line, i);
  //: let c = bin_at(line, p.length - i);
  //: let b = vec2<f32>(c.x, -c.y);
  //: let back = turn(i, 2u * p.length);
  //: let o = times(a - b, vec2<f32>(back.x, -back.y));
  //: let v = a + b + vec2<f32>(-o.y, o.x);
  //#else
  //: let mirrored = 2u * i > p.length;
  //: let bin = select(i, p.length - i, mirrored);
  //: if (bin >= p.given) { return vec2<f32>(0.0, 0.0); }
  //: let z = x[line * p.given + bin];
  //: let single = (bin == 0u) | (2u * bin == p.length);
  //: let w = select(p.read_by * z, vec2<f32>(z.x, 0.0), single);
  //: let v = vec2<f32>(w.x, select(w.y, -w.y, mirrored));
  //#end
  //: return vec2<f32>(v.x, -v.y); //#if INVERSE
  return v; //#if !INVERSE
}

fn store_at(line: u32, i: u32, column: u32, v: vec2<f32>) {
  //#if STORE == 0
  let sign = 1.0; //#if !CONJUGATE
  //: let sign = -1.0; //#if CONJUGATE
  y[(line * p.made + i) * p.inner + column] = p.by * vec2<f32>(v.x, sign * v.y);
  //#elif STORE == 1
  //: if (i < p.made) { y[line * p.made + i] = p.by * v.x; }
  //#elif STORE == 3
  //: let first = 2u * i;
  //: let at = line * p.made + first;
  //: if (first < p.made) { y[at] = p.by * v.x; }
  //: let second = p.by * v.y; //#if !CONJUGATE
  //: let second = -p.by * v.y; //#if CONJUGATE
  //: if (first + 1u < p.made) { y[at + 1u] = second; }
  //#else
  //: let single = (i == 0u) | (2u * i == p.length);
  //: if (2u * i <= p.length && i < p.made) {
  //:   y[line * p.made + i] = select(p.inner_by * v, vec2<f32>(p.by * v.x, 0.0), single);
  //: }
  //#end
}

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let t = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (t >= p.n) { return; }
  let column = t % p.inner;
  let u = t / p.inner;
  let j = u % p.part;
  //#if RADIX == 0
  //: let rest = u / p.part;
  //: let h = rest % p.radix;
  //: let line = rest / p.radix;
  //: let place = j / p.step;
  //: let far = p.length / p.step;
  //: var sum = load_at(line, j, column);
  //: for (var l = 1u; l < p.radix; l++) { sum += times(load_at(line, j + l * p.part, column), turn((h * l) % p.radix, p.radix)); }
  //: store_at(line, j - place * p.step + p.step * (p.radix * place + h), column, turned(sum, h * place, far));
  //#else
  let line = u / p.part;
  let place = j / p.step;
  let far = p.length / p.step;
  let to = j - place * p.step + p.step * RADIX * place;
  let v_0 = load_at(line, j, column);
  let v_1 = load_at(line, j + p.part, column);
  let v_2 = load_at(line, j + 2u * p.part, column); //#if RADIX > 2
  let v_3 = load_at(line, j + 3u * p.part, column); //#if RADIX > 2
  //: let v_4 = load_at(line, j + 4u * p.part, column); //#if RADIX > 4
  //: let v_5 = load_at(line, j + 5u * p.part, column); //#if RADIX > 4
  //: let v_6 = load_at(line, j + 6u * p.part, column); //#if RADIX > 4
  //: let v_7 = load_at(line, j + 7u * p.part, column); //#if RADIX > 4
  //#if RADIX == 2
  //: let s_0 = v_0 + v_1;
  //: let s_1 = v_0 - v_1;
  //#elif RADIX == 4
  let a_0 = v_0 + v_2; let a_1 = v_0 - v_2; let a_2 = v_1 + v_3; let a_3 = v_1 - v_3;
  let s_0 = a_0 + a_2;
  let s_1 = a_1 + vec2<f32>(a_3.y, -a_3.x);
  let s_2 = a_0 - a_2;
  let s_3 = a_1 - vec2<f32>(a_3.y, -a_3.x);
  //#else
  //: let a_0 = v_0 + v_4; let a_1 = v_0 - v_4; let a_2 = v_2 + v_6; let a_3 = v_2 - v_6;
  //: let b_0 = v_1 + v_5; let b_1 = v_1 - v_5; let b_2 = v_3 + v_7; let b_3 = v_3 - v_7;
  //: let e_0 = a_0 + a_2; let e_1 = a_1 + vec2<f32>(a_3.y, -a_3.x);
  //: let e_2 = a_0 - a_2; let e_3 = a_1 - vec2<f32>(a_3.y, -a_3.x);
  //: let o_0 = b_0 + b_2; let c_1 = b_1 + vec2<f32>(b_3.y, -b_3.x);
  //: let c_2 = b_0 - b_2; let c_3 = b_1 - vec2<f32>(b_3.y, -b_3.x);
  //: let o_1 = 0.70710678 * vec2<f32>(c_1.x + c_1.y, c_1.y - c_1.x);
  //: let o_2 = vec2<f32>(c_2.y, -c_2.x);
  //: let o_3 = 0.70710678 * vec2<f32>(c_3.y - c_3.x, -c_3.x - c_3.y);
  //: let s_0 = e_0 + o_0; let s_1 = e_1 + o_1; let s_2 = e_2 + o_2; let s_3 = e_3 + o_3;
  //: let s_4 = e_0 - o_0; let s_5 = e_1 - o_1; let s_6 = e_2 - o_2; let s_7 = e_3 - o_3;
  //#end
  store_at(line, to, column, s_0);
  store_at(line, to + p.step, column, turned(s_1, place, far));
  store_at(line, to + 2u * p.step, column, turned(s_2, 2u * place, far)); //#if RADIX > 2
  store_at(line, to + 3u * p.step, column, turned(s_3, 3u * place, far)); //#if RADIX > 2
  //: store_at(line, to + 4u * p.step, column, turned(s_4, 4u * place, far)); //#if RADIX > 4
  //: store_at(line, to + 5u * p.step, column, turned(s_5, 5u * place, far)); //#if RADIX > 4
  //: store_at(line, to + 6u * p.step, column, turned(s_6, 6u * place, far)); //#if RADIX > 4
  //: store_at(line, to + 7u * p.step, column, turned(s_7, 7u * place, far)); //#if RADIX > 4
  //#end
}
