// Random numbers: each counter gives two words (shaders/random.wgsl), of which `draw` makes two numbers. An invocation stores four
// (WIDE) or two.

alias Stored = vec4<f32>; //#param Type of what is stored at once.
const WIDE = true; //#param Four numbers are stored at once.
const CONVERTED = false; //#param Numbers are stored in another type than they are drawn in.
const ROWED = false; //#param Rows of p.size numbers, by p.each invocations each, have a key each.
const RANGED = false; //#param Whole numbers from p.low on, p.range of them.
const WORKGROUP = 256u; //#let 256

fn store(x: vec4<f32>) -> vec4<f32> { return x; } //#inline !CONVERTED
//: fn store(x: vec4<f32>) -> vec4<f16> { return Stored(x); } //#inline

@group(0) @binding(0) var<storage, read> seed: array<u32>;
@group(0) @binding(1) var<storage, read_write> result: array<Stored>;
struct Params {
  n: u32,
  first: u32,
  size: u32,
  each: u32, //#if ROWED
  low: u32, range: u32, //#if RANGED
}
@group(0) @binding(2) var<uniform> p: Params;

//#slot threefry Declares `threefry`, two random words for a key and a counter.
fn threefry(k: vec2<u32>, c: vec2<u32>) -> vec2<u32> { return k ^ c; }
//#end
//#slot draw Declares `draw`, two numbers of two words.
fn draw(w: vec2<u32>) -> vec2<f32> { return vec2<f32>(w >> vec2<u32>(8u)) * 0x1p-24; }
//#end

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let id = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (id >= p.n) { return; }
  let row = 0u; //#if !ROWED
  let place = id; //#if !ROWED
  //: let row = id / p.each; //#if ROWED
  //: let place = id % p.each; //#if ROWED
  let key = vec2<u32>(seed[2u * row], seed[2u * row + 1u]);
  //#if WIDE
  let block = p.first + place * 2u;
  let a = draw(threefry(key, vec2<u32>(block, 0u)));
  let b = draw(threefry(key, vec2<u32>(block + 1u, 0u)));
  result[id] = store(vec4(a, b));
  //#else
  //: let block = p.first + place;
  //: let at = row * p.size + 2u * place;
  //: let a = draw(threefry(key, vec2<u32>(block, 0u)));
  //: result[at] = store(a.x);
  //: if (2u * place + 1u < p.size) { result[at + 1u] = store(a.y); }
  //#end
}
