/**
 * Attention on the GPU in one pass over the keys: each invocation keeps query rows, their running maximum, sum and
 * result in registers, so the matrix of scores never exists. The kernels stand in shaders/attention/.
 */
import {
  type BufferRef,
  f32Bits,
  type GpuPlan,
  type GpuVariant,
  type Profile,
} from "../../core/dispatch.ts";
import type { Problem } from "../../core/op.ts";
import { shaderProgram } from "../../core/shader.ts";
import { ATTENTION_STREAMING, ATTENTION_TILES } from "../../../shaders_generated.ts";
import { flatPlan } from "../dispatches.ts";
import { throughFloat32 } from "../pointwise/half.ts";
import { LOOP_LIMIT } from "../reduce/wgsl.ts";

/** Most registers for the query and the result of one row: a limit of the hardware. */
const MAX_DEPTH = 128;
/** Vectors of queries that an invocation of a software adapter keeps, and as many of results. */
const TILE_VECTORS = 32;
const MAX_TILE_ROWS = 4;
const BUFFERS: readonly BufferRef[] = [{ input: 0 }, { input: 1 }, { input: 2 }, { output: 0 }];

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

/**
 * One dispatch for attention with or without a causal mask; float16 goes through float32, for the precision of scores.
 */
export const ATTENTION_VARIANTS: readonly GpuVariant[] = [
  throughFloat32({
    name: "streaming",
    fits: (q, p) => p.barriers && fits(q),
    plan: planStreaming,
  }),
  throughFloat32({
    name: "shared tiles",
    fits: (q, p) => !p.barriers && p.subgroup > 0 && fits(q),
    plan: (problem, profile) => planTiles(problem, profile, true),
  }),
  throughFloat32({
    name: "tiles",
    fits: (q, p) => !p.barriers && fits(q),
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
  const program = shaderProgram(ATTENTION_TILES, {
    vectors,
    causal: Boolean(problem.attrs.causal),
    lanes,
    shares,
    rows,
    ragged: queries % (rows * lanes) !== 0,
  }, { enable: shares && profile.subgroupDirective ? ["enable subgroups;"] : [] });
  const params = [groups, blocks, queries, keys, heads, f32Bits(problem.attrs.scale)];
  return flatPlan({ program, buffers: BUFFERS, params, groups: true }, profile);
}

function planStreaming(problem: Problem, profile: Profile): GpuPlan {
  const { batch, queries, keys, heads, depth } = extents(problem);
  const program = shaderProgram(
    ATTENTION_STREAMING,
    { vectors: depth / 4, causal: Boolean(problem.attrs.causal) },
    { name: "attention" },
  );
  const params = [batch * queries * heads, queries, keys, heads, f32Bits(problem.attrs.scale)];
  return flatPlan({ program, buffers: BUFFERS, params }, profile);
}
