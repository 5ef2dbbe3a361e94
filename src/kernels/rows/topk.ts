/**
 * The greatest elements of rows on the GPU. `thread`: an invocation per row looks through it for each result. `workgroup`:
 * pieces of rows are sorted in workgroup memory, the best of each piece go on to the next round. `bitonic`: whole rows are
 * sorted in buffers, one dispatch a step.
 */
import type { DType } from "../../core/dtype.ts";
import {
  type BufferRef,
  type Dispatch,
  flatId,
  type GpuPlan,
  type GpuVariant,
  gridFor,
  makeProgram,
  type Profile,
  type Program,
  Programs,
} from "../../core/dispatch.ts";
import { loadText, wgslType } from "../../core/gpu_storage.ts";
import type { Problem } from "../../core/op.ts";
import { keyFunction } from "./order.ts";
import { fitsGpu, LOOP_LIMIT } from "../reduce/wgsl.ts";
import { rowsOf } from "./row.ts";

const WORKGROUP = 256;
/** Elements that are sorted in workgroup memory: keys and indices take 8 bytes each. */
const PIECE = 1024;
/** Longest row that is sorted in buffers. */
const LONGEST = 2 ** 24;

const cache = new Programs();
function cached(key: string, make: () => Program): Program {
  let p = cache.get(key);
  if (!p) cache.set(key, p = make());
  return p;
}

interface TopK {
  readonly dtype: DType;
  readonly rows: number;
  readonly columns: number;
  readonly k: number;
}

function describe({ inputs: [x], outputs: [values] }: Problem): TopK {
  return { dtype: x.dtype, ...rowsOf(x.shape), k: values.shape[values.shape.length - 1] };
}

/** Variants of TopKV2; input 0 is the tensor, outputs are values and indices. */
export const topkVariants: readonly GpuVariant[] = [
  variant(
    "thread",
    (t) => t.k * t.columns <= LOOP_LIMIT && (t.k <= 4 || t.k * t.columns <= 4096),
    planThread,
  ),
  variant(
    "workgroup",
    (t, profile) => profile.family === "gpu" && (t.columns <= PIECE || t.k <= PIECE / 2),
    planWorkgroup,
  ),
  variant("bitonic", (t) => t.columns <= LONGEST, planBitonic),
];

function variant(
  name: string,
  fits: (t: TopK, profile: Profile) => boolean,
  plan: (t: TopK, profile: Profile) => GpuPlan,
): GpuVariant {
  return {
    name,
    fits: (problem, profile) =>
      fitsGpu([problem.inputs[0], ...problem.outputs], profile) && fits(describe(problem), profile),
    plan: (problem, profile) => {
      const t = describe(problem);
      return t.rows * t.columns * t.k === 0 ? { dispatches: [] } : plan(t, profile);
    },
  };
}

/** True where (key, index) `a` comes before `b`. */
function comesBefore(ka: string, ia: string, kb: string, ib: string): string {
  return `((${ka} > ${kb}) | ((${ka} == ${kb}) & (${ia} < ${ib})))`;
}

function planThread({ dtype, rows, columns, k }: TopK, profile: Profile): GpuPlan {
  const workgroup = profile.family === "gpu" ? 64 : profile.lanes;
  const type = wgslType(dtype);
  const program = cached(`thread,${dtype},${workgroup}`, () =>
    makeProgram({
      name: "topk_thread",
      inputs: [type],
      outputs: [type, "i32"],
      params: ["rows", "columns", "k"],
      workgroup: [workgroup, 1, 1],
      prelude: keyFunction(dtype, false),
      body: `let row = ${flatId(workgroup)};
if (row >= p.rows) { return; }
let base = row * p.columns;
var lastKey = 0xffffffffu;
var lastAt = 0u;
for (var j = 0u; j < p.k; j += 1u) {
  var best = 0u;
  var at = 0xffffffffu;
  for (var c = 0u; c < p.columns; c += 1u) {
    let key = key_(${loadText(dtype, "in0[base + c]")});
    let open = (j == 0u) | ${comesBefore("lastKey", "lastAt", "key", "c")};
    if (open && ${comesBefore("key", "c", "best", "at")}) { best = key; at = c; }
  }
  lastKey = best;
  lastAt = at;
  out0[row * p.k + j] = in0[base + at];
  out1[row * p.k + j] = i32(at);
}`,
    }));
  return {
    dispatches: [{
      program,
      buffers: [{ input: 0 }, { output: 0 }, { output: 1 }],
      params: [rows, columns, k],
      grid: gridFor(rows, workgroup, profile),
    }],
  };
}

function planWorkgroup({ dtype, rows, columns, k }: TopK, profile: Profile): GpuPlan {
  const dispatches: Dispatch[] = [];
  const temps: number[] = [];
  let length = columns, source: BufferRef[] = [{ input: 0 }];
  for (;;) {
    const pieces = Math.ceil(length / PIECE), last = pieces === 1;
    const kept = last ? k : Math.min(k, PIECE);
    const first = source.length === 1;
    const targets: BufferRef[] = last
      ? [{ output: 0 }, { output: 1 }]
      : [{ temp: temps.length }, { temp: temps.length + 1 }];
    if (!last) temps.push(4 * rows * pieces * kept, 4 * rows * pieces * kept);
    const groups = rows * pieces;
    dispatches.push({
      program: cached(`piece,${dtype},${first},${last}`, () => pieceProgram(dtype, first, last)),
      // The last round fetches values from the tensor by index.
      buffers: last && !first ? [...source, { input: 0 }, ...targets] : [...source, ...targets],
      params: [groups, length, pieces, kept, columns],
      grid: gridFor(groups, 1, profile),
    });
    if (last) return { dispatches, temps };
    source = targets;
    length = pieces * kept;
  }
}

function pieceProgram(dtype: DType, first: boolean, last: boolean): Program {
  const type = wgslType(dtype);
  const values = first ? "in0" : "in2";
  const load = first
    ? `keys_[e] = key_(${loadText(dtype, "in0[row * p.length + c]")});\n    at_[e] = c;`
    : `keys_[e] = in0[row * p.length + c];\n    at_[e] = in1[row * p.length + c];`;
  const store = last
    ? `out0[to] = ${values}[row * p.columns + at_[e]];\n  out1[to] = i32(at_[e]);`
    : `out0[to] = keys_[e];\n  out1[to] = at_[e];`;
  return makeProgram({
    name: "topk_piece",
    inputs: [...(first ? [type] : ["u32", "u32"]), ...(last && !first ? [type] : [])],
    outputs: last ? [type, "i32"] : ["u32", "u32"],
    params: ["groups", "length", "pieces", "kept", "columns"],
    workgroup: [WORKGROUP, 1, 1],
    prelude: `${keyFunction(dtype, false)}
var<workgroup> keys_: array<u32, ${PIECE}>;
var<workgroup> at_: array<u32, ${PIECE}>;`,
    body: `let g = wid.x + wid.y * nwg.x;
if (g >= p.groups) { return; }
let row = g / p.pieces;
let start = (g % p.pieces) * ${PIECE}u;
for (var e = lidx; e < ${PIECE}u; e += ${WORKGROUP}u) {
  let c = start + e;
  keys_[e] = 0u;
  at_[e] = 0xffffffffu;
  if (c < p.length) {
    ${load}
  }
}
workgroupBarrier();
for (var size = 2u; size <= ${PIECE}u; size *= 2u) {
  for (var half = size / 2u; half > 0u; half /= 2u) {
    for (var e = lidx; e < ${PIECE / 2}u; e += ${WORKGROUP}u) {
      let a = (e / half) * 2u * half + e % half;
      let b = a + half;
      let falling = (a & size) == 0u;
      let ka = keys_[a];
      let kb = keys_[b];
      let ia = at_[a];
      let ib = at_[b];
      if (${comesBefore("kb", "ib", "ka", "ia")} == falling) {
        keys_[a] = kb;
        keys_[b] = ka;
        at_[a] = ib;
        at_[b] = ia;
      }
    }
    workgroupBarrier();
  }
}
for (var e = lidx; e < p.kept; e += ${WORKGROUP}u) {
  let to = g * p.kept + e;
  ${store}
}`,
  });
}

function planBitonic({ dtype, rows, columns, k }: TopK, profile: Profile): GpuPlan {
  const length = 2 ** Math.ceil(Math.log2(columns));
  const type = wgslType(dtype), all = rows * length;
  const workgroup = profile.family === "gpu" ? 256 : 64;
  const keys: BufferRef = { temp: 0 }, at: BufferRef = { temp: 1 };
  const fill = cached(`fill,${dtype},${workgroup}`, () =>
    makeProgram({
      name: "topk_keys",
      inputs: [type],
      outputs: ["u32", "u32"],
      params: ["n", "columns", "length"],
      workgroup: [workgroup, 1, 1],
      prelude: keyFunction(dtype, false),
      body: `let t = ${flatId(workgroup)};
if (t >= p.n) { return; }
let c = t % p.length;
var key = 0u;
var at = 0xffffffffu;
if (c < p.columns) {
  key = key_(${loadText(dtype, "in0[(t / p.length) * p.columns + c]")});
  at = c;
}
out0[t] = key;
out1[t] = at;`,
    }));
  const step = cached(`step,${workgroup}`, () =>
    makeProgram({
      name: "topk_step",
      inputs: [],
      outputs: ["u32", "u32"],
      params: ["n", "size", "half"],
      workgroup: [workgroup, 1, 1],
      body: `let e = ${flatId(workgroup)};
if (e >= p.n) { return; }
let a = (e / p.half) * 2u * p.half + e % p.half;
let b = a + p.half;
let falling = (a & p.size) == 0u;
let ka = out0[a];
let kb = out0[b];
let ia = out1[a];
let ib = out1[b];
if (${comesBefore("kb", "ib", "ka", "ia")} == falling) {
  out0[a] = kb;
  out0[b] = ka;
  out1[a] = ib;
  out1[b] = ia;
}`,
    }));
  const fetch = cached(`fetch,${dtype},${workgroup}`, () =>
    makeProgram({
      name: "topk_values",
      inputs: [type, "u32"],
      outputs: [type, "i32"],
      params: ["n", "columns", "length", "k"],
      workgroup: [workgroup, 1, 1],
      body: `let t = ${flatId(workgroup)};
if (t >= p.n) { return; }
let row = t / p.k;
let at = in1[row * p.length + t % p.k];
out0[t] = in0[row * p.columns + at];
out1[t] = i32(at);`,
    }));
  const dispatches: Dispatch[] = [{
    program: fill,
    buffers: [{ input: 0 }, keys, at],
    params: [all, columns, length],
    grid: gridFor(all, workgroup, profile),
  }];
  for (let size = 2; size <= length; size *= 2) {
    // The last round sorts each row one way, whatever row it is.
    const mask = size === length ? 0 : size;
    for (let half = size / 2; half >= 1; half /= 2) {
      dispatches.push({
        program: step,
        buffers: [keys, at],
        params: [all / 2, mask, half],
        grid: gridFor(all / 2, workgroup, profile),
      });
    }
  }
  dispatches.push({
    program: fetch,
    buffers: [{ input: 0 }, at, { output: 0 }, { output: 1 }],
    params: [rows * k, columns, length, k],
    grid: gridFor(rows * k, workgroup, profile),
  });
  return { dispatches, temps: [4 * all, 4 * all] };
}
