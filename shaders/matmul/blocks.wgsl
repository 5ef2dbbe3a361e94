// How a tiled kernel reads a block of a stored matrix: four steps of the sums, k to k + 3, over the elements at to at + 3 of the other
// axis, become the vectors v_0 to v_3. Steps from k1 on are zero; what lies outside of the other axis may be anything. INNER says that
// all steps lie before k1.

alias Acc = f32; //#param Type of the sums.
const BK = 32u; //#param Steps of the sums that are staged at once.
const THREADS = 64u; //#param Invocations of a workgroup.
const i = 0u; //#index
const q = 0u; //#lane
const first = 0u; //#index
const rest = 64u; //#index

@group(0) @binding(0) var<storage, read> BUFFER: array<vec4<f32>>;
const BASE = 0u;
const STRIDE = 8u;
const EXTENT = 8u;
const INNER = 0;
const SIDE = 32u;
const BLOCKS = 8u;
const ORIGIN = 0u;
var<workgroup> PANEL: array<array<vec4<f32>, 8>, 32>;
fn LOAD(x: vec4<f32>) -> vec4<f32> { return x; }

// Copies a panel of BK steps whose elements are contiguous beside the sums: SIDE of them from ORIGIN on, as BLOCKS vectors, each
// invocation every THREADSth vector.
fn panel(kt: u32, k1: u32, lidx: u32) {
  //#piece panel BUFFER LOAD BASE STRIDE EXTENT INNER SIDE BLOCKS ORIGIN PANEL
  //#for first = 0; first < SIDE * BK / 4; first += THREADS
  //#let rest = SIDE * BK / 4 - first
  if (lidx < rest) { //#if rest < THREADS
  //: { //#if rest >= THREADS
    let t = lidx + first; let bi = t % BLOCKS; let bk = t / BLOCKS;
    let at = ORIGIN + bi * 4u; let k = kt + bk;
    //#if INNER
    //: let v = LOAD(BUFFER[BASE + min(at, EXTENT - 4u) / 4u + k * STRIDE]);
    //#else
    let v = select(vec4<Acc>(), LOAD(BUFFER[BASE + min(at, EXTENT - 4u) / 4u + min(k, k1 - 1u) * STRIDE]), k < k1);
    //#end
    PANEL[bk][bi] = v;
  }
  //#end
  //#end
}

fn block(k: u32, k1: u32, at: u32) {
  // BUFFER is read through LOAD. The matrix begins at BASE, its rows lie STRIDE apart; ALONG_K says that they run along the sums,
  // WIDE that they are read by fours. EXTENT is that of the other axis.
  //#piece plain BUFFER LOAD BASE STRIDE EXTENT ALONG_K WIDE INNER
  //#if ALONG_K && WIDE
  //#if INNER
  //: let w_i = LOAD(BUFFER[BASE + min(at + i, EXTENT - 1u) * STRIDE + k / 4u]); //#for i in 0..4
  //#else
  // Here k is a multiple of 4, so that a vector is inside or outside as a whole.
  //: let kv = min(k, k1 - 4u) / 4u;
  //: let w_i = select(vec4<Acc>(), LOAD(BUFFER[BASE + min(at + i, EXTENT - 1u) * STRIDE + kv]), k < k1); //#for i in 0..4
  //#end
  //: let v_q = vec4(w_0[q], w_1[q], w_2[q], w_3[q]); //#for q in 0..4
  //#elif ALONG_K
  //: let ro_i = BASE + min(at + i, EXTENT - 1u) * STRIDE; //#for i in 0..4
  //#for q in 0..4
  //: let v_q = vec4(
  //#if INNER
  //:   LOAD(BUFFER[ro_i + k + q]) //#for i in 0..4 sep ,
  //#else
  //:   select(Acc(0), LOAD(BUFFER[ro_i + min(k + q, k1 - 1u)]), k + q < k1) //#for i in 0..4 sep ,
  //#end
  //: );
  //#end
  //#elif WIDE
  let av = BASE + min(at, EXTENT - 4u) / 4u;
  //#if INNER
  //: let v_q = LOAD(BUFFER[av + (k + q) * STRIDE]); //#for q in 0..4
  //#else
  let v_q = select(vec4<Acc>(), LOAD(BUFFER[av + min(k + q, k1 - 1u) * STRIDE]), k + q < k1); //#for q in 0..4
  //#end
  //#else
  //: let co_i = BASE + min(at + i, EXTENT - 1u); //#for i in 0..4
  //#if INNER
  //: let kr_q = (k + q) * STRIDE; //#for q in 0..4
  //: let v_q = vec4(LOAD(BUFFER[co_0 + kr_q]), LOAD(BUFFER[co_1 + kr_q]), LOAD(BUFFER[co_2 + kr_q]), LOAD(BUFFER[co_3 + kr_q])); //#for q in 0..4
  //#else
  //: let kr_q = min(k + q, k1 - 1u) * STRIDE; //#for q in 0..4
  //: let v_q = select(vec4<Acc>(), vec4(LOAD(BUFFER[co_0 + kr_q]), LOAD(BUFFER[co_1 + kr_q]), LOAD(BUFFER[co_2 + kr_q]), LOAD(BUFFER[co_3 + kr_q])), k + q < k1); //#for q in 0..4
  //#end
  //#end
  //#end
}
