// For each row of logits, indices drawn with the probabilities that softmax gives.

alias Element = f32; //#param Type of the logits.
const WORKGROUP = 256u; //#let 256

@group(0) @binding(0) var<storage, read> logits: array<Element>;
@group(0) @binding(1) var<storage, read> seed: array<u32>;
@group(0) @binding(2) var<storage, read_write> result: array<i32>;
struct Params {
  n: u32,
  classes: u32,
  samples: u32,
}
@group(0) @binding(3) var<uniform> p: Params;

//#slot threefry Declares `threefry`, two random words for a key and a counter.
fn threefry(k: vec2<u32>, c: vec2<u32>) -> vec2<u32> { return k ^ c; }
//#end

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) wid: vec3<u32>,
  @builtin(num_workgroups) nwg: vec3<u32>,
  @builtin(local_invocation_index) lidx: u32,
) {
  let id = (wid.x + wid.y * nwg.x) * WORKGROUP + lidx;
  if (id >= p.n) { return; }
  let base = (id / p.samples) * p.classes;
  let words = threefry(vec2<u32>(seed[0], seed[1]), vec2<u32>(id / 2u, 0u));
  let word = select(words.x, words.y, (id & 1u) == 1u);
  var most = f32(logits[base]);
  for (var c = 1u; c < p.classes; c++) { most = max(most, f32(logits[base + c])); }
  var total = 0.0;
  for (var c = 0u; c < p.classes; c++) { total += exp(f32(logits[base + c]) - most); }
  let wanted = f32(word >> 8u) * 0x1p-24 * total;
  var sum = 0.0;
  var chosen = p.classes - 1u;
  for (var c = 0u; c < p.classes; c++) {
    sum += exp(f32(logits[base + c]) - most);
    if (sum > wanted) { chosen = c; break; }
  }
  result[id] = i32(chosen);
}
