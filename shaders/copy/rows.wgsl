// How gathers and scatters find a row: an index vector of RANK numbers becomes a row number, and whether it exists.

const RANK = 1u; //#param Numbers of an index vector.
const k = 0u; //#index

struct Params { d_k: u32 }
@group(0) @binding(0) var<storage, read> INDICES: array<i32>;
@group(0) @binding(1) var<uniform> p: Params;

fn find(AT: u32) {
  // Index vector AT of INDICES as `row` and `ok`.
  //#piece find INDICES AT
  var row = 0u;
  var ok = true;
  //#for k in 0..RANK
  let x_k = u32(INDICES[(AT) * RANK + k]);
  ok &= x_k < p.d_k;
  row = row * p.d_k + x_k;
  //#end
  //#end
}
