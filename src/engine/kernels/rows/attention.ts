/**
 * Attention on the GPU in one pass over the keys, so that the matrix of scores never exists. The kernels stand in
 * shaders/attention/.
 */
import {
  type AttentionForm,
  attentionForm,
  type RowPlace,
  rowsOfAttention,
} from "../../core/attention.ts";
import type { DType } from "../../core/dtype.ts";
import {
  type BufferRef,
  f32Bits,
  type GpuPlan,
  type GpuVariant,
  type Profile,
  type Program,
} from "../../core/dispatch.ts";
import { vec, wgslType } from "../../core/gpu_storage.ts";
import type { Problem } from "../../core/op.ts";
import { argumentsOf, type Expr } from "../../core/scalar/expr.ts";
import { loadElement, printWgsl, registerType } from "../../core/scalar/wgsl.ts";
import { wgslFunctions } from "../../core/scalar/wgsl_functions.ts";
import { shaderProgram } from "../../core/shader.ts";
import {
  ATTENTION_BLOCKS,
  ATTENTION_FEW,
  ATTENTION_TILES,
  SCALAR_WGSL,
} from "../../../shaders_generated.ts";
import { flatPlan } from "../dispatches.ts";
import { throughFloat32 } from "../pointwise/half.ts";
import { LOOP_LIMIT } from "../reduce/wgsl.ts";

/** Most registers for the query and the result of one row: a limit of the hardware. */
const MAX_DEPTH = 128;
/** Vectors of queries that an invocation of a software adapter keeps, and as many of results. */
const TILE_VECTORS = 32;
const MAX_TILE_ROWS = 4;
/** Most queries of a head that have a workgroup each: a block of more shares what it loads of the keys. */
const FEW_QUERIES = 8;

/** One dispatch for attention; float16 goes through float32, for the precision of scores. */
export const ATTENTION_VARIANTS: readonly GpuVariant[] = ([
  {
    name: "few queries",
    fits: (q, p) => p.barriers && fits(q, p) && attentionForm(q).queries <= FEW_QUERIES,
    plan: planFew,
  },
  {
    name: "blocks",
    fits: (q, p) => p.barriers && fits(q, p) && blockOf(attentionForm(q), p) !== null,
    plan: planBlocks,
  },
  {
    name: "shared tiles",
    fits: (q, p) => !p.barriers && p.subgroup > 0 && fits(q, p),
    plan: (problem, profile) => planTiles(problem, profile, true),
  },
  { name: "tiles", fits, plan: (problem, profile) => planTiles(problem, profile, false) },
] as readonly GpuVariant[]).map(throughFloat32);

function fits(problem: Problem, { maxBuffers }: Profile): boolean {
  const form = attentionForm(problem), operands = [form.query, form.key, form.value, form.result];
  const { inputs, outputs } = problem;
  return inputs.slice(0, 3).every((i) => i.dtype === "float32") &&
    inputs.length + outputs.length <= maxBuffers && isReadable(form, operands);
}

/** True for rows of fours that fit into registers. */
export function isReadable(form: AttentionForm, operands: readonly RowPlace[]): boolean {
  const { depth, keys } = form;
  return depth % 4 === 0 && depth > 0 && depth <= MAX_DEPTH &&
    operands.every(({ base, outer, row }) => [base, ...outer, row].every((n) => n % 4 === 0)) &&
    keys > 0 && keys < LOOP_LIMIT && rowsOfAttention(form) > 0;
}

/** Rows of a block, and keys of its tiles. */
interface Block {
  readonly rows: number;
  readonly keys: number;
}
/** Invocations of a block, eight to a row or to `rows` of them. */
const THREADS = 128;
/** Blocks from the largest on. */
const BLOCKS: readonly Block[] = [
  { rows: 4, keys: 32 },
  { rows: 2, keys: 32 },
  { rows: 2, keys: 16 },
  { rows: 1, keys: 16 },
  { rows: 1, keys: 8 },
];

/** Returns the largest block that a workgroup's memory holds and the queries fill; null for none. */
function blockOf({ depth, queries }: AttentionForm, profile: Profile): Block | null {
  if (profile.maxInvocations < THREADS) return null;
  return BLOCKS.find(({ rows, keys }, i) => {
    const span = rows * THREADS / 8, more = BLOCKS[i + 1];
    const bytes = 4 * ((span + keys) * (depth + 4) + span * (keys + 8));
    return bytes <= profile.maxWorkgroupBytes && (queries > span / 2 || more === undefined);
  }) ?? null;
}

function planBlocks(problem: Problem, profile: Profile): GpuPlan {
  const form = attentionForm(problem), { rows, keys } = blockOf(form, profile)!;
  return plan(
    problem,
    profile,
    Math.ceil(form.queries / (rows * THREADS / 8)),
    (shared, added) =>
      shaderProgram(ATTENTION_BLOCKS, {
        ...shared,
        rows,
        keys,
        threads: THREADS,
        weights: vec("f32", rows),
      }, added),
  );
}

function planFew(problem: Problem, profile: Profile): GpuPlan {
  const { keys, queries } = attentionForm(problem);
  const threads = keys > 256 && profile.maxInvocations >= 256 ? 256 : 64;
  return plan(
    problem,
    profile,
    queries,
    (shared, added) => shaderProgram(ATTENTION_FEW, { ...shared, threads }, added),
  );
}

function planTiles(problem: Problem, profile: Profile, shares: boolean): GpuPlan {
  const { queries, depth } = attentionForm(problem), { barriers, subgroup } = profile;
  const lanes = shares ? subgroup : barriers ? 64 : profile.lanes;
  const most = barriers ? 1 : Math.floor(4 * TILE_VECTORS / depth);
  const rows = Math.max(1, Math.min(MAX_TILE_ROWS, most));
  const ragged = queries % (rows * lanes) !== 0;
  const enable = shares && profile.subgroupDirective ? ["enable subgroups;"] : [];
  return plan(
    problem,
    profile,
    Math.ceil(queries / (rows * lanes)),
    (shared, added) =>
      shaderProgram(ATTENTION_TILES, { ...shared, lanes, shares, rows, ragged }, {
        ...added,
        enable,
      }),
  );
}

/** Makes the program of a kernel from what all kernels know, and the additional bindings. */
type MakeProgram = (
  shared: {
    readonly vectors: number;
    readonly causal: boolean;
    readonly sums: boolean;
    readonly score: string;
  },
  added: { readonly name: string; readonly inputs: string[]; readonly params: string[] },
) => Program;

/** Plans one dispatch of so many workgroups for each head. */
function plan(problem: Problem, profile: Profile, blocks: number, make: MakeProgram): GpuPlan {
  const form = attentionForm(problem), { outer, causal, depth, scale } = form;
  const dtypes = problem.inputs.slice(3).map((x) => x.dtype);
  const texts = [{ name: "score", expr: form.scores }, { name: "weigh", expr: form.weights }];
  const program = make({
    ...{ vectors: depth / 4, causal, sums: problem.outputs.length > 1 },
    score: changes(texts, dtypes, 3),
  }, { name: "attention", ...maskBindings(form, dtypes) });
  const places = [form.query, form.key, form.value, form.result];
  const params = [
    ...[blocks * outer.reduce((a, b) => a * b), outer[1], outer[2]],
    ...places.flatMap(({ base, outer }) => [base, ...outer].map((n) => n / 4)),
    ...places.map(({ row }) => row / 4),
    ...[blocks, form.queries, form.keys, f32Bits(scale)],
    ...maskWords(form),
  ];
  const buffers: BufferRef[] = [
    ...problem.inputs.map((_, input) => ({ input })),
    ...problem.outputs.map((_, output) => ({ output })),
  ];
  return flatPlan({ program, buffers, params, groups: true }, profile);
}

/** Fields of a mask: its base, its steps along the outer axes, from row to row, and from key to key. */
const MASK_FIELDS = ["", "a", "b", "c", "t", "k"] as const;

/** Returns the bindings that masks add to a kernel. */
export function maskBindings(
  { masks }: AttentionForm,
  dtypes: readonly DType[],
): { readonly inputs: string[]; readonly params: string[] } {
  return {
    inputs: dtypes.map(wgslType),
    params: masks.flatMap((_, i) => MASK_FIELDS.map((f) => `m${i}${f}`)),
  };
}

/** Returns the words of masks, a kernel's last ones. */
export function maskWords({ masks }: AttentionForm): number[] {
  return masks.flatMap(({ base, outer, row, column }) => [base, ...outer, row, column]);
}

/** A function of a kernel: of a number, with `slope` of another too, and of the masks. */
interface Change {
  readonly name: string;
  /** Null: the function returns its last number. */
  readonly expr: Expr | null;
}

/** Prints functions of scores and weights; masks are bound after so many inputs. */
export function changes(list: readonly Change[], dtypes: readonly DType[], bound: number): string {
  const called = new Set<string>();
  const texts = list.map(({ name, expr }) => {
    const more = name === "slope" ? ", d: f32" : "";
    const head = `fn ${name}(x: f32${more}, t: u32, k: u32, a: u32, b: u32, c: u32) -> f32`;
    if (expr === null) return `${head} { return ${more ? "d" : "x"}; }`;
    const { lines, results, helpers } = printWgsl([expr], ["float32", ...dtypes, "float32"], [
      "x",
      ...dtypes.map((_, i) => `m${i}`),
      "d",
    ]);
    for (const name of helpers) called.add(name);
    const all = [`${head} {`, ...loads(expr, dtypes, bound), ...lines, `return ${results[0]};\n}`];
    return all.join("\n");
  });
  return [wgslFunctions(SCALAR_WGSL, [...called]), ...texts].join("\n");
}

/** Prints the loads of the masks that an expression reads. */
function loads(expr: Expr, dtypes: readonly DType[], bound: number): string[] {
  const read = argumentsOf(expr);
  return dtypes.flatMap((dtype, i) => {
    if (!read.includes(i + 1)) return [];
    const steps = MASK_FIELDS.slice(1).map((f) => ` + ${f} * p.m${i}${f}`).join("");
    const text = loadElement(dtype, `in${bound + i}[p.m${i}${steps}]`);
    return [`let m${i}: ${registerType(dtype)} = ${text};`];
  });
}
