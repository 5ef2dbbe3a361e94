/**
 * Running sums and products on the GPU. `serial`: an invocation per line. `chunked`: lines cut in chunks, whose totals are
 * scanned first. `workgroup`: a workgroup per line or chunk of it, for lines that lie contiguous in memory.
 */
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
import { type AccType, accType, loadText, storeText, wgslType } from "../../core/gpu_storage.ts";
import type { Problem } from "../../core/op.ts";
import type { DType } from "../../core/dtype.ts";
import type { ScanOp } from "../../core/meaning.ts";
import { axesOf, type Line, lineOf } from "./layout.ts";
import { fitsGpu, LOOP_LIMIT, workgroupTree } from "./wgsl.ts";

const WORKGROUP = 256;
/** Elements a workgroup takes at once: four an invocation. */
const TILE = 4 * WORKGROUP;

interface Scan {
  readonly op: ScanOp;
  readonly dtype: DType;
  readonly type: AccType;
  readonly exclusive: boolean;
  readonly reverse: boolean;
  readonly line: Line;
}

const cache = new Programs();
function cached(key: string, make: () => Program): Program {
  let p = cache.get(key);
  if (!p) cache.set(key, p = make());
  return p;
}

/** Variants of a running sum or product. */
export function scanVariants(op: ScanOp): GpuVariant[] {
  const describe = (problem: Problem): Scan => {
    const [x] = problem.inputs;
    const { exclusive, reverse } = problem.attrs;
    const [axis] = axesOf(problem.hosts[1]!, x.shape.length);
    return {
      op,
      dtype: x.dtype,
      type: accType(x.dtype),
      exclusive,
      reverse,
      line: lineOf(x.shape, axis),
    };
  };
  const fits = (problem: Problem, profile: Profile): boolean =>
    fitsGpu([problem.inputs[0], problem.outputs[0]], profile);
  return [
    {
      name: "workgroup",
      fits: (problem, profile) => {
        if (profile.family !== "gpu" || !fits(problem, profile)) return false;
        const { line } = describe(problem);
        return line.inner === 1 && line.length >= 128;
      },
      plan: (problem, profile) => planWorkgroup(describe(problem), profile),
    },
    {
      name: "chunked",
      fits: (problem, profile) =>
        fits(problem, profile) && chunksOf(describe(problem).line, profile) > 1,
      plan: (problem, profile) => planChunked(describe(problem), profile),
    },
    {
      name: "serial",
      fits: (problem, profile) =>
        fits(problem, profile) && describe(problem).line.length <= LOOP_LIMIT,
      plan: (problem, profile) => planSerial(describe(problem), profile),
    },
  ];
}

function chunksOf({ outer, length, inner }: Line, profile: Profile): number {
  const lines = outer * inner, wanted = profile.family === "gpu" ? 4096 : 64;
  const needed = Math.ceil(length / LOOP_LIMIT);
  if (lines * 4 > wanted || length < 256) return needed;
  return Math.max(needed, Math.min(Math.ceil(wanted / lines), Math.floor(length / 32)));
}

function combine(op: ScanOp): string {
  return op === "sum" ? "+" : "*";
}
function identity(scan: Scan): string {
  return `${scan.type}(${scan.op === "sum" ? 0 : 1})`;
}
function isEmpty(line: Line): boolean {
  return line.outer * line.length * line.inner === 0;
}

interface LineStep {
  /** Where the running value starts; null: at the identity. */
  readonly init: BufferRef | null;
  /** `scan` writes every element, `total` only the end. */
  readonly write: "scan" | "total";
  readonly exclusive: boolean;
  /** float16 tensors are widened; partial results are not. */
  readonly from: DType | null;
  readonly to: DType | null;
}

function planSerial(scan: Scan, profile: Profile): GpuPlan {
  if (isEmpty(scan.line)) return { dispatches: [] };
  const step: LineStep = {
    init: null,
    write: "scan",
    exclusive: scan.exclusive,
    from: scan.dtype,
    to: scan.dtype,
  };
  return {
    dispatches: [lineDispatch(scan, scan.line, 1, step, { input: 0 }, { output: 0 }, profile)],
  };
}

function planChunked(scan: Scan, profile: Profile): GpuPlan {
  if (isEmpty(scan.line)) return { dispatches: [] };
  const wanted = Math.max(2, chunksOf(scan.line, profile));
  const length = Math.ceil(scan.line.length / wanted),
    chunks = Math.ceil(scan.line.length / length);
  const totals: Line = { outer: scan.line.outer, length: chunks, inner: scan.line.inner };
  const bytes = totals.outer * chunks * totals.inner * 4;
  const { dtype, exclusive } = scan;
  return {
    temps: [bytes, bytes],
    dispatches: [
      lineDispatch(
        scan,
        scan.line,
        chunks,
        { init: null, write: "total", exclusive: false, from: dtype, to: null },
        { input: 0 },
        { temp: 0 },
        profile,
      ),
      lineDispatch(
        scan,
        totals,
        1,
        { init: null, write: "scan", exclusive: true, from: null, to: null },
        { temp: 0 },
        { temp: 1 },
        profile,
      ),
      lineDispatch(
        scan,
        scan.line,
        chunks,
        { init: { temp: 1 }, write: "scan", exclusive, from: dtype, to: dtype },
        { input: 0 },
        { output: 0 },
        profile,
      ),
    ],
  };
}

function lineDispatch(
  scan: Scan,
  line: Line,
  chunks: number,
  step: LineStep,
  source: BufferRef,
  target: BufferRef,
  profile: Profile,
): Dispatch {
  const threads = line.outer * chunks * line.inner;
  const workgroup = profile.family === "gpu" ? 64 : profile.lanes;
  const key = `l,${scan.op},${scan.type},${scan.reverse},${
    step.init !== null
  },${step.write},${step.exclusive},${step.from},${step.to},${workgroup}`;
  const buffers = step.init ? [source, step.init, target] : [source, target];
  return {
    program: cached(key, () => lineProgram(scan, step, workgroup)),
    buffers,
    params: [threads, line.inner, line.length, chunks, Math.ceil(line.length / chunks)],
    grid: gridFor(threads, workgroup, profile),
  };
}

function lineProgram(scan: Scan, step: LineStep, workgroup: number): Program {
  const { type } = scan;
  const from = step.from === null ? type : wgslType(step.from),
    to = step.to === null ? type : wgslType(step.to);
  const load = step.from === null ? "in0[k]" : loadText(step.from, "in0[k]");
  const store = (v: string): string => `out0[k] = ${step.to === null ? v : storeText(step.to, v)};`;
  const fold = `a = a ${combine(scan.op)} ${load};`;
  const each = step.write === "total"
    ? fold
    : step.exclusive
    ? `let v = ${load}; ${store("a")} a = a ${combine(scan.op)} v;`
    : `${fold} ${store("a")}`;
  return makeProgram({
    name: `scan_${scan.op}_${step.write}`,
    inputs: step.init ? [from, type] : [from],
    outputs: [to],
    params: ["n", "inner", "length", "chunks", "chunk"],
    workgroup: [workgroup, 1, 1],
    body: `let t = ${flatId(workgroup)};
if (t >= p.n) { return; }
let i = t % p.inner;
let q = t / p.inner;
let c = q % p.chunks;
let o = q / p.chunks;
let first = c * p.chunk;
let last = min(first + p.chunk, p.length);
var a = ${step.init ? "in1[t]" : identity(scan)};
var k = (o * p.length + ${scan.reverse ? "last - 1u" : "first"}) * p.inner + i;
for (var l = first; l < last; l += 1u) {
  ${each}
  k = k ${scan.reverse ? "-" : "+"} p.inner;
}
${step.write === "total" ? "out0[t] = a;" : ""}`,
  });
}

function planWorkgroup(scan: Scan, profile: Profile): GpuPlan {
  if (isEmpty(scan.line)) return { dispatches: [] };
  const { outer, length } = scan.line;
  const tiles = Math.ceil(length / TILE);
  const wanted = outer >= 64 ? 1 : Math.min(Math.ceil(256 / outer), Math.ceil(tiles / 2));
  // A chunk is whole tiles.
  const chunk = Math.ceil(tiles / wanted) * TILE, chunks = Math.ceil(length / chunk);
  const { dtype, exclusive } = scan;
  const whole: LineStep = { init: null, write: "scan", exclusive, from: dtype, to: dtype };
  if (chunks === 1) {
    return {
      dispatches: [tileDispatch(scan, chunk, 1, whole, { input: 0 }, { output: 0 }, profile)],
    };
  }
  const bytes = outer * chunks * 4;
  const totals: Line = { outer, length: chunks, inner: 1 };
  return {
    temps: [bytes, bytes],
    dispatches: [
      tileDispatch(scan, chunk, chunks, { ...whole, write: "total", to: null }, { input: 0 }, {
        temp: 0,
      }, profile),
      lineDispatch(
        scan,
        totals,
        1,
        { init: null, write: "scan", exclusive: true, from: null, to: null },
        { temp: 0 },
        { temp: 1 },
        profile,
      ),
      tileDispatch(scan, chunk, chunks, { ...whole, init: { temp: 1 } }, { input: 0 }, {
        output: 0,
      }, profile),
    ],
  };
}

function tileDispatch(
  scan: Scan,
  chunk: number,
  chunks: number,
  step: LineStep,
  source: BufferRef,
  target: BufferRef,
  profile: Profile,
): Dispatch {
  const groups = scan.line.outer * chunks;
  const key = `w,${scan.op},${scan.type},${scan.reverse},${
    step.init !== null
  },${step.write},${step.exclusive},${step.from},${step.to}`;
  return {
    program: cached(
      key,
      () => (step.write === "total" ? totalProgram(scan, step) : tileProgram(scan, step)),
    ),
    buffers: step.init ? [source, step.init, target] : [source, target],
    params: [groups, scan.line.length, chunks, chunk],
    grid: gridFor(groups, 1, profile),
  };
}

/** Statements that find the group's chunk: `first`, `last` in walking order and `base` of its line. */
const CHUNK = `let g = wid.x + wid.y * nwg.x;
if (g >= p.groups) { return; }
let base = (g / p.chunks) * p.length;
let first = (g % p.chunks) * p.chunk;
let last = min(first + p.chunk, p.length);`;

/** Place in memory of the element `k` in walking order. A chunk is walked backwards within itself by reverse scans. */
function place(scan: Scan, k: string): string {
  return scan.reverse ? `base + first + (last - 1u - ${k})` : `base + ${k}`;
}

function totalProgram(scan: Scan, step: LineStep): Program {
  const { type, op } = scan;
  return makeProgram({
    name: `scan_${op}_totals`,
    inputs: [wgslType(step.from!)],
    outputs: [type],
    params: ["groups", "length", "chunks", "chunk"],
    workgroup: [WORKGROUP, 1, 1],
    prelude: `var<workgroup> shared_: array<${type}, ${WORKGROUP}>;`,
    body: `${CHUNK}
var a = ${identity(scan)};
for (var k = first + lidx; k < last; k += ${WORKGROUP}u) { a = a ${combine(op)} ${
      loadText(step.from!, "in0[base + k]")
    }; }
shared_[lidx] = a;
${workgroupTree("shared_", WORKGROUP, (x, y) => `${x} ${combine(op)} ${y}`)}
if (lidx == 0u) { out0[g] = shared_[0]; }`,
  });
}

function tileProgram(scan: Scan, step: LineStep): Program {
  const { type, op } = scan, dtype = step.from!;
  const c = combine(op);
  const lanes = [0, 1, 2, 3];
  const loads = lanes.map((l) =>
    `var v${l} = ${identity(scan)};
  if (k0 + ${l}u < last) { v${l} = ${loadText(dtype, `in0[${place(scan, `(k0 + ${l}u)`)}]`)}; }`
  );
  const stores = lanes.map((l) => {
    const value = step.exclusive ? `e${l}` : `e${l} ${c} v${l}`;
    return `if (k0 + ${l}u < last) { out0[${place(scan, `(k0 + ${l}u)`)}] = ${
      storeText(dtype, `(${value})`)
    }; }`;
  });
  // Hillis and Steele over the workgroup, between two halves of shared memory.
  const rounds: string[] = [];
  for (let d = 1, from = 0; d < WORKGROUP; d *= 2, from = 1 - from) {
    const a = from * WORKGROUP, b = (1 - from) * WORKGROUP;
    rounds.push(
      `if (lidx >= ${d}u) { shared_[${b}u + lidx] = shared_[${a}u + lidx - ${d}u] ${c} shared_[${a}u + lidx]; }`,
      `else { shared_[${b}u + lidx] = shared_[${a}u + lidx]; }`,
      `workgroupBarrier();`,
    );
  }
  const end = Math.log2(WORKGROUP) % 2 === 0 ? 0 : WORKGROUP;
  return makeProgram({
    name: `scan_${op}_tiles`,
    inputs: step.init ? [wgslType(dtype), type] : [wgslType(dtype)],
    outputs: [wgslType(dtype)],
    params: ["groups", "length", "chunks", "chunk"],
    workgroup: [WORKGROUP, 1, 1],
    prelude: `var<workgroup> shared_: array<${type}, ${2 * WORKGROUP}>;`,
    body: `${CHUNK}
var carry = ${step.init ? "in1[g]" : identity(scan)};
for (var t = first; t < last; t += ${TILE}u) {
  let k0 = t + lidx * 4u;
  ${loads.join("\n  ")}
  let s1 = v0 ${c} v1;
  let s2 = s1 ${c} v2;
  shared_[lidx] = s2 ${c} v3;
  workgroupBarrier();
  ${rounds.join("\n  ")}
  var before = carry;
  if (lidx > 0u) { before = carry ${c} shared_[${end}u + lidx - 1u]; }
  carry = carry ${c} shared_[${end + WORKGROUP - 1}u];
  workgroupBarrier();
  let e0 = before;
  let e1 = before ${c} v0;
  let e2 = before ${c} s1;
  let e3 = before ${c} s2;
  ${stores.join("\n  ")}
}`,
  });
}
