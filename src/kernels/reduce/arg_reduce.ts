/**
 * Index of the greatest or least element on the GPU: `rows`, a workgroup per row; `strided`, an invocation per result. Long
 * axes are split; each part leaves a key and an index.
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
import { sizeOf } from "../../core/shape.ts";
import type { ArgOp } from "../../core/meaning.ts";
import { keyFunction } from "../rows/order.ts";
import { axesOf, type Line, lineOf } from "./layout.ts";
import { fitsGpu, LOOP_LIMIT } from "./wgsl.ts";

const WORKGROUP = 256;
const cache = new Programs();

/** Variants of argMax and argMin. */
export function argReduceVariants(op: ArgOp): GpuVariant[] {
  const lineIn = ({ inputs, hosts }: Problem): Line =>
    lineOf(inputs[0].shape, axesOf(hosts[1]!, inputs[0].shape.length)[0]);
  const fits = ({ inputs, outputs }: Problem, profile: Profile): boolean =>
    fitsGpu([inputs[0], outputs[0]], profile);
  return [
    {
      name: "rows",
      fits: (problem, profile) => {
        if (profile.family !== "gpu" || !fits(problem, profile)) return false;
        const { inner, length } = lineIn(problem);
        return inner === 1 && length >= 128;
      },
      plan: (problem, profile) => plan(op, problem, lineIn(problem), profile, true),
    },
    {
      name: "strided",
      fits,
      plan: (problem, profile) => plan(op, problem, lineIn(problem), profile, false),
    },
  ];
}

function plan(op: ArgOp, problem: Problem, line: Line, profile: Profile, rows: boolean): GpuPlan {
  const { outer, length, inner } = line;
  const results = outer * inner;
  if (sizeOf(problem.outputs[0].shape) === 0) return { dispatches: [] };
  const wanted = rows ? 256 : profile.family === "gpu" ? 4096 : 64;
  const most = Math.floor(length / (rows ? 4096 : 64));
  const parts = Math.max(
    1,
    Math.ceil(length / LOOP_LIMIT),
    Math.min(most, Math.ceil(wanted / results)),
  );
  const { dtype } = problem.inputs[0];
  if (parts === 1) {
    return {
      dispatches: [
        dispatch(op, dtype, line, 1, "whole", [{ input: 0 }, { output: 0 }], profile, rows),
      ],
    };
  }
  const bytes = results * parts * 4;
  const rest: Line = { outer, length: parts, inner };
  const temps: BufferRef[] = [{ temp: 0 }, { temp: 1 }];
  return {
    temps: [bytes, bytes],
    dispatches: [
      dispatch(op, dtype, line, parts, "first", [{ input: 0 }, ...temps], profile, rows),
      dispatch(op, dtype, rest, 1, "second", [...temps, { output: 0 }], profile, false),
    ],
  };
}

/** `whole`: elements → indices; `first`: elements → keys and indices; `second`: keys and indices → indices. */
type Stage = "whole" | "first" | "second";

function dispatch(
  op: ArgOp,
  dtype: DType,
  { outer, length, inner }: Line,
  parts: number,
  stage: Stage,
  buffers: readonly BufferRef[],
  profile: Profile,
  rows: boolean,
): Dispatch {
  const results = outer * parts * inner;
  const workgroup = rows ? WORKGROUP : profile.family === "gpu" ? 64 : profile.lanes;
  const key = `${op},${dtype},${stage},${rows},${workgroup}`;
  let program = cache.get(key);
  if (!program) cache.set(key, program = makeArgProgram(op, dtype, stage, rows, workgroup));
  return {
    program,
    buffers,
    params: [results, inner, length, parts],
    grid: rows ? gridFor(results, 1, profile) : gridFor(results, workgroup, profile),
  };
}

function makeArgProgram(
  op: ArgOp,
  dtype: DType,
  stage: Stage,
  rows: boolean,
  workgroup: number,
): Program {
  const second = stage === "second";
  const key = second ? "in0[k]" : `key_(${loadText(dtype, "in0[k]")})`;
  const at = second ? "in1[k]" : "i32(r)";
  const store = (k: string, a: string): string =>
    stage === "first" ? `out0[t] = ${k}; out1[t] = ${a};` : `out0[t] = ${a};`;
  // Parts are interleaved: of equal elements the one in front must be told by its index.
  const better = (k: string, a: string, best: string, bestAt: string): string =>
    `((${k} > ${best}) | ((${k} == ${best}) & (${a} < ${bestAt})))`;
  const start = rows
    ? `let t = wid.x + wid.y * nwg.x;
if (t >= p.n) { return; }
let i = 0u;
let part = t % p.parts;
let o = t / p.parts;
let first = part * ${workgroup}u + lidx;
let step = p.parts * ${workgroup}u;`
    : `let t = ${flatId(workgroup)};
if (t >= p.n) { return; }
let i = t % p.inner;
let q = t / p.inner;
let part = q % p.parts;
let o = q / p.parts;
let first = part;
let step = p.parts;`;
  const tree: string[] = [];
  for (let half = workgroup >> 1; rows && half > 0; half >>= 1) {
    tree.push(
      `if (lidx < ${half}u) {
  let k2 = keys_[lidx + ${half}u];
  let a2 = at_[lidx + ${half}u];
  if (${better("k2", "a2", "keys_[lidx]", "at_[lidx]")}) { keys_[lidx] = k2; at_[lidx] = a2; }
}
workgroupBarrier();`,
    );
  }
  return makeProgram({
    name: `arg_${op}_${stage}`,
    inputs: second ? ["u32", "i32"] : [wgslType(dtype)],
    outputs: stage === "first" ? ["u32", "i32"] : ["i32"],
    params: ["n", "inner", "length", "parts"],
    workgroup: [workgroup, 1, 1],
    prelude: `${second ? "" : keyFunction(dtype, op === "min")}
${
      rows
        ? `var<workgroup> keys_: array<u32, ${workgroup}>;\nvar<workgroup> at_: array<i32, ${workgroup}>;`
        : ""
    }`,
    body: `${start}
var best = 0u;
var bestAt = 0x7fffffff;
for (var r = first; r < p.length; r += step) {
  let k = (o * p.length + r) * p.inner + i;
  let v = ${key};
  let a = ${at};
  if (${better("v", "a", "best", "bestAt")}) { best = v; bestAt = a; }
}
${
      rows
        ? `keys_[lidx] = best;
at_[lidx] = bestAt;
workgroupBarrier();
${tree.join("\n")}
if (lidx == 0u) { ${store("keys_[0]", "at_[0]")} }`
        : store("best", "bestAt")
    }`,
  });
}
