// Pieces that the kernels of attention share: the axes before a workgroup's queries, and where its operands begin.

struct Params {
  groups: u32, d1: u32, d2: u32,
  q: u32, q0: u32, q1: u32, q2: u32,
  k: u32, k0: u32, k1: u32, k2: u32,
  v: u32, v0: u32, v1: u32, v2: u32,
  o: u32, o0: u32, o1: u32, o2: u32,
}
@group(0) @binding(0) var<uniform> p: Params;

// Finds the axes a, b and c of number z, and the first elements of the query, keys, values and result there.
fn begin(z: u32) {
  //#piece begin
  let c = z % p.d2;
  let b = z / p.d2 % p.d1;
  let a = z / p.d2 / p.d1;
  let q0 = p.q + a * p.q0 + b * p.q1 + c * p.q2;
  let k0 = p.k + a * p.k0 + b * p.k1 + c * p.k2;
  let v0 = p.v + a * p.v0 + b * p.v1 + c * p.v2;
  let o0 = p.o + a * p.o0 + b * p.o1 + c * p.o2;
  //#end
}
