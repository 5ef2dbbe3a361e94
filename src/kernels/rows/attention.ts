/**
 * Attention on the GPU in one pass over the keys: each invocation keeps query rows, their running maximum, sum and result in
 * registers, so the matrix of scores never exists.
 */
import {
  type Dispatch,
  f32Bits,
  flatId,
  type GpuPlan,
  type GpuVariant,
  gridFor,
  makeProgram,
  type Profile,
  type Program,
  Programs,
} from "../../core/dispatch.ts";
import type { Problem } from "../../core/op.ts";
import { attentionTileProgram } from "./attention_tiles.ts";
import { throughFloat32 } from "../pointwise/half.ts";
import { LOOP_LIMIT } from "../reduce/wgsl.ts";

/** Registers for the query and the result of one row: a limit of the hardware. */
const MAX_DEPTH = 128;
const WORKGROUP = 64;
/** Vectors of queries that an invocation of a software adapter keeps, and as many of results. */
const TILE_VECTORS = 32;
const MAX_TILE_ROWS = 4;

/** Extents of attention over `[batch, time, heads, depth]`. */
interface Extents {
  readonly batch: number;
  readonly queries: number;
  readonly keys: number;
  readonly heads: number;
  readonly depth: number;
}

function extents({ inputs: [q, k] }: Problem): Extents {
  const [batch, queries, heads, depth] = q.shape;
  return { batch, queries, keys: k.shape[1], heads, depth };
}

/** One dispatch for attention with or without a causal mask; float16 goes through float32, as its scores should. */
export const ATTENTION_VARIANTS: readonly GpuVariant[] = [
  throughFloat32({
    name: "streaming",
    fits: (q, p) => p.family === "gpu" && fits(q),
    plan: planStreaming,
  }),
  throughFloat32({
    name: "shared tiles",
    fits: (q, p) => p.family === "software" && p.subgroup > 0 && fits(q),
    plan: (problem, profile) => planTiles(problem, profile, true),
  }),
  throughFloat32({
    name: "tiles",
    fits: (q, p) => p.family === "software" && fits(q),
    plan: (problem, profile) => planTiles(problem, profile, false),
  }),
];

function fits(problem: Problem): boolean {
  const { depth, keys, queries, batch, heads } = extents(problem);
  return problem.inputs.length === 3 && problem.inputs.every((i) => i.dtype === "float32") &&
    depth % 4 === 0 && depth > 0 && depth <= MAX_DEPTH &&
    keys > 0 && keys < LOOP_LIMIT && queries * batch * heads > 0;
}

function planTiles(problem: Problem, profile: Profile, shares: boolean): GpuPlan {
  const { batch, queries, keys, heads, depth } = extents(problem);
  const lanes = shares ? profile.subgroup : profile.lanes;
  const vectors = depth / 4;
  const rows = Math.max(1, Math.min(MAX_TILE_ROWS, Math.floor(TILE_VECTORS / vectors)));
  const blocks = Math.ceil(queries / (rows * lanes));
  const groups = blocks * heads * batch;
  const program = attentionTileProgram({
    vectors,
    causal: Boolean(problem.attrs.causal),
    lanes,
    shares,
    rows,
    ragged: queries % (rows * lanes) !== 0,
    enable: shares && profile.subgroupDirective ? ["enable subgroups;"] : [],
  });
  return {
    dispatches: [{
      program,
      buffers: [{ input: 0 }, { input: 1 }, { input: 2 }, { output: 0 }],
      params: [groups, blocks, queries, keys, heads, f32Bits(problem.attrs.scale)],
      grid: gridFor(groups, 1, profile),
    }],
  };
}

function planStreaming(problem: Problem, profile: Profile): GpuPlan {
  const { batch, queries, keys, heads, depth } = extents(problem);
  const rows = batch * queries * heads;
  const dispatch: Dispatch = {
    program: streamingProgram(depth / 4, Boolean(problem.attrs.causal)),
    buffers: [{ input: 0 }, { input: 1 }, { input: 2 }, { output: 0 }],
    params: [rows, queries, keys, heads, f32Bits(problem.attrs.scale)],
    grid: gridFor(rows, WORKGROUP, profile),
  };
  return { dispatches: [dispatch] };
}

const programs = new Programs();

function streamingProgram(vectors: number, causal: boolean): Program {
  const key = `${vectors},${causal}`;
  let program = programs.get(key);
  if (program) return program;
  const each = (line: (j: number) => string): string[] =>
    Array.from({ length: vectors }, (_, j) => line(j));
  const body = [
    `let row = ${flatId(WORKGROUP)};`,
    `if (row >= p.rows) { return; }`,
    // Neighbouring invocations take neighbouring queries of one head, so that they read the same keys.
    `let t = row % p.queries;`,
    `let bh = row / p.queries;`,
    `let h = bh % p.heads;`,
    `let b = bh / p.heads;`,
    `let at = ((b * p.queries + t) * p.heads + h) * ${vectors}u;`,
    ...each((j) => `let q${j} = in0[at + ${j}u] * p.scale;`),
    ...each((j) => `var o${j} = vec4<f32>(0.0);`),
    `var top = -3.0e38;`,
    `var total = 0.0;`,
    `let step = p.heads * ${vectors}u;`,
    `var k = (b * p.keys * p.heads + h) * ${vectors}u;`,
    // The last query sees all keys, as it does where the keys of earlier calls are kept.
    causal
      ? `let end = u32(max(0, min(i32(p.keys), i32(t) + 1 + i32(p.keys) - i32(p.queries))));`
      : `let end = p.keys;`,
    `for (var n = 0u; n < end; n = n + 1u) {`,
    `let s = ${each((j) => `dot(q${j}, in1[k + ${j}u])`).join(" + ")};`,
    `if (s > top) {`,
    `let shrink = exp(top - s);`,
    `total = total * shrink;`,
    ...each((j) => `o${j} = o${j} * shrink;`),
    `top = s;`,
    `}`,
    `let w = exp(s - top);`,
    `total = total + w;`,
    ...each((j) => `o${j} = o${j} + w * in2[k + ${j}u];`),
    `k = k + step;`,
    `}`,
    `let norm = select(0.0, 1.0 / total, total > 0.0);`,
    ...each((j) => `out0[at + ${j}u] = o${j} * norm;`),
  ];
  program = makeProgram({
    name: "attention",
    inputs: ["vec4<f32>", "vec4<f32>", "vec4<f32>"],
    outputs: ["vec4<f32>"],
    params: ["rows", "queries", "keys", "heads", "scale:f32"],
    workgroup: [WORKGROUP, 1, 1],
    body: body.join("\n"),
  });
  programs.set(key, program);
  return program;
}
