/** The GPU variants of pointwise ops and of updates of variables. */
import type { GpuVariant } from "../../core/dispatch.ts";
import type { MeaningOf } from "../../core/meaning.ts";
import type { Attrs, OpDef, Problem } from "../../core/op.ts";
import type { Expr } from "../../core/scalar/expr.ts";
import { groupedFits, type GroupLayout, planGrouped } from "../reduce/grouped_update.ts";
import { boundExprs, MOST_TERMS } from "./bound_exprs.ts";
import { pointwiseFits, pointwiseGpu } from "./variants.ts";

/** Storage buffers that a kernel may have on every adapter. */
const LEAST_BUFFERS = 8;

/** All outputs in one dispatch. */
function together(
  name: string,
  exprsOf: (problem: Problem) => readonly Expr[],
  most = Infinity,
): GpuVariant {
  return {
    name,
    complex: "too",
    fits: (problem, profile) =>
      problem.inputs.length <= most && pointwiseFits(exprsOf(problem), problem.inputs, profile),
    plan: (problem, profile) =>
      pointwiseGpu(exprsOf(problem), problem.inputs, problem.outputs[0], profile),
  };
}

/** One dispatch per output: for adapters that bind too few buffers for all. */
function apart(exprsOf: (problem: Problem) => readonly Expr[]): GpuVariant {
  return {
    name: "one output each",
    fits: (problem, profile) =>
      exprsOf(problem).every((e) => pointwiseFits([e], problem.inputs, profile)),
    plan: (problem, profile) => ({
      dispatches: exprsOf(problem).flatMap((e, output) =>
        pointwiseGpu([e], problem.inputs, problem.outputs[output], profile).dispatches.map((d) => ({
          ...d,
          buffers: d.buffers.map((ref) => "output" in ref ? { ...ref, output } : ref),
        }))
      ),
    }),
  };
}

function exprsOf(
  exprs: MeaningOf<"pointwise">["exprs"],
): (problem: Problem) => readonly Expr[] {
  const bind = boundExprs(exprs);
  return ({ inputs, attrs }) => bind(attrs, inputs.length);
}

/** The variants of an op whose outputs are expressions of its inputs. */
export function pointwiseVariants(
  { exprs, sums }: MeaningOf<"pointwise">,
): readonly GpuVariant[] {
  return [together("pointwise", exprsOf(exprs), sums ? MOST_TERMS : undefined)];
}

/** The variants of updates: of one variable, or with `members` of several. */
export function updateVariants(
  { exprs, members }: MeaningOf<"update">,
  { signature: { inputArgs, outputArgs } }: OpDef,
): readonly GpuVariant[] {
  if (members) return [grouped];
  const own = exprsOf(exprs), buffers = inputArgs.length + outputArgs.length;
  const mayBeMany = buffers > LEAST_BUFFERS || outputArgs.some((arg) => arg.numberAttr);
  return [together("together", own), ...(mayBeMany ? [apart(own)] : [])];
}

/** Members in as few dispatches as the adapter can bind. */
const grouped: GpuVariant = {
  name: "grouped",
  fits: ({ attrs }, profile) => groupedFits(attrs as GroupLayout & Attrs, profile),
  plan: (problem, profile) => planGrouped(problem.attrs as GroupLayout & Attrs, problem, profile),
};
