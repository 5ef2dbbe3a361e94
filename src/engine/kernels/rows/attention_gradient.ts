/**
 * The gradient of attention on the GPU, without the matrix of scores: a dispatch for what each row needs of its whole row, one for the
 * queries and one for keys and values. The kernels stand in shaders/attention/.
 */
import {
  type AttentionGradientForm,
  type AttentionGradientOf,
  type GradientPlace,
  type RowPlace,
  rowsOfAttention,
} from "../../core/attention.ts";
import {
  type BufferRef,
  type Dispatch,
  f32Bits,
  type GpuPlan,
  type GpuVariant,
  type Profile,
} from "../../core/dispatch.ts";
import type { Problem } from "../../core/op.ts";
import { shaderProgram } from "../../core/shader.ts";
import { ATTENTION_GRADIENT, ATTENTION_ROW_SUMS } from "../../../shaders_generated.ts";
import { flatDispatch } from "../dispatches.ts";
import { throughFloat32 } from "../pointwise/half.ts";
import { changes, isReadable, maskBindings, maskWords } from "./attention.ts";

/** Inputs before the masks. */
const OWN_INPUTS = 6;
/** Buffers beside masks that the kernel of keys and values binds; with one of these results there is one less, or two. */
const MOST_BUFFERS = 7;

/** Three dispatches, or four where an adapter binds too few buffers for keys and values together. */
export const ATTENTION_GRADIENT_VARIANTS: readonly GpuVariant[] = ([
  {
    name: "shared rows",
    fits: (q, p) => !p.barriers && p.subgroup > 0 && fits(q, p),
    plan: (problem, profile) => plan(problem, profile, true),
  },
  { name: "rows", fits, plan: (problem, profile) => plan(problem, profile, false) },
] as readonly GpuVariant[]).map(throughFloat32);

function formOf({ attrs }: Problem): AttentionGradientForm {
  return (attrs.form as AttentionGradientOf).form;
}

function fits(problem: Problem, { maxBuffers }: Profile): boolean {
  const { attention: form, gradient, wanted } = formOf(problem);
  const operands = [form.query, form.key, form.value, form.result, gradient];
  return problem.inputs.slice(0, OWN_INPUTS).every((i) => i.dtype === "float32") &&
    MOST_BUFFERS - 1 + form.masks.length <= maxBuffers &&
    isReadable(form, [...operands, ...wanted.map(({ place }) => place)]);
}

/** A wanted gradient, and the number of its output. */
interface Result extends GradientPlace {
  readonly output: number;
}

function plan(problem: Problem, profile: Profile, shares: boolean): GpuPlan {
  const form = formOf(problem), { attention, wanted } = form, rows = rowsOfAttention(attention);
  const results = wanted.map((w, output): Result => ({ ...w, output }));
  const [query, key, value] = (["query", "key", "value"] as const)
    .map((name) => results.find(({ of }) => of === name));
  const together = key !== undefined && value !== undefined &&
    MOST_BUFFERS + attention.masks.length <= profile.maxBuffers &&
    summed(form, key.place).join() === summed(form, value.place).join();
  const lists: readonly (Result | undefined)[][] = together
    ? [[query], [key, value]]
    : [[query], [key], [value]];
  const dispatches = lists.map((list) => list.filter((r) => r !== undefined))
    .filter((list) => list.length > 0)
    .map((list) => walk(problem, list, { profile, shares }));
  return { dispatches: [rowSums(form, profile), ...dispatches], temps: [16 * rows] };
}

const wordsOf = ({ base, outer, row }: RowPlace): number[] =>
  [base, ...outer, row].map((n) => n / 4);

function rowSums({ attention: form, gradient }: AttentionGradientForm, profile: Profile): Dispatch {
  const n = rowsOfAttention(form), workgroup = profile.barriers ? 64 : profile.lanes;
  const program = shaderProgram(ATTENTION_ROW_SUMS, { vectors: form.depth / 4, workgroup });
  const words = [n, form.outer[1], form.outer[2], form.queries];
  const params = [...words, ...wordsOf(gradient), ...wordsOf(form.result)];
  const buffers: BufferRef[] = [{ input: 3 }, { input: 4 }, { input: 5 }, { temp: 0 }];
  return flatDispatch({ program, buffers, params }, profile);
}

/** True for the outer axes along which a result is summed. */
function summed({ attention }: AttentionGradientForm, { outer }: RowPlace): boolean[] {
  return attention.outer.map((extent, i) => extent > 1 && outer[i] === 0);
}

/** Dispatches the kernel that gives the gradient of queries, or of keys, values or both. */
function walk(
  problem: Problem,
  results: readonly Result[],
  { profile, shares }: { readonly profile: Profile; readonly shares: boolean },
): Dispatch {
  const form = formOf(problem), { attention, factors } = form, { outer } = attention;
  const dtypes = problem.inputs.slice(OWN_INPUTS).map((x) => x.dtype);
  const [{ of: first, place }] = results, query = first === "query", key = first === "key";
  const value = results.at(-1)!.of === "value";
  const lanes = shares ? profile.subgroup : profile.barriers ? 64 : profile.lanes;
  const enable = shares && profile.subgroupDirective ? ["enable subgroups;"] : [];
  const program = shaderProgram(ATTENTION_GRADIENT, {
    ...{ vectors: attention.depth / 4, causal: attention.causal, lanes, shares, query, key, value },
    score: changes(
      [
        { name: "score", expr: attention.scores },
        { name: "weigh", expr: attention.weights },
        { name: "spread", expr: form.spread },
        { name: "slope", expr: form.slope },
      ],
      dtypes,
      query || key ? 5 : 4,
    ),
  }, { name: "attention_gradient", enable, ...maskBindings(attention, dtypes) });
  const sums = query ? [false, false, false] : summed(form, place);
  const taken = outer.map((n, i) => sums[i] ? 1 : n), inner = outer.map((n, i) => sums[i] ? n : 1);
  const count = (list: readonly number[]): number => list.reduce((a, b) => a * b);
  const blocks = Math.ceil((query ? attention.queries : attention.keys) / lanes);
  const ofValue = results.find(({ of }) => of === "value");
  const params = [
    ...[blocks * count(taken), outer[1], outer[2]],
    ...[attention.query, attention.key, attention.value, form.gradient].flatMap(wordsOf),
    ...[place, (ofValue ?? results[0]).place].flatMap(wordsOf),
    ...[taken[1], taken[2], count(inner), inner[1], inner[2]],
    ...[blocks, attention.queries, attention.keys],
    ...[f32Bits(attention.scale), f32Bits(first === "value" ? 1 : factors[first])],
    ...maskWords(attention),
  ];
  const buffers: BufferRef[] = [
    ...[{ input: 0 }, { input: 1 }, { input: 3 }, { temp: 0 }],
    ...(query || key ? [{ input: 2 }] : []),
    ...dtypes.map((_, i) => ({ input: OWN_INPUTS + i })),
    ...results.map(({ output }) => ({ output })),
  ];
  return flatDispatch({ program, buffers, params, groups: true }, profile);
}
