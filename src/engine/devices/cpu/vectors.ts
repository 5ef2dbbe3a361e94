/**
 * Which vector kernel an op has: one that follows from what it means.
 */
import { fusionOf } from "../../core/fusion.ts";
import type { MeaningOf, RowProgram } from "../../core/meaning.ts";
import type { OpDef, Problem } from "../../core/op.ts";
import { argument, type Expr } from "../../core/scalar/expr.ts";
import { prepareCopy } from "./copy/copy.ts";
import { prepareCount } from "./copy/count.ts";
import { prepareFill, prepareOneHot } from "./copy/fill.ts";
import { prepareGather, prepareScatter } from "./copy/indexed_rows.ts";
import { prepareExchange } from "./copy/join.ts";
import type { Engine } from "./engine.ts";
import { families } from "./families.ts";
import type { FastPrepare, FastRun } from "./fast.ts";
import { epilogueFor } from "./gemm/epilogue.ts";
import { prepareMatMul } from "./gemm/gemm.ts";
import { preparePointwise } from "./pointwise/pointwise.ts";
import { prepareMembers, prepareSum } from "./pointwise/pointwise_groups.ts";
import { prepareMultinomial } from "./random/multinomial.ts";
import { prepareReduction } from "./reduce/reduce.ts";
import { prepareScan } from "./reduce/scan.ts";
import {
  prepareCrossEntropy,
  prepareLayerNormGrad,
  prepareSoftmax,
  prepareSparseCrossEntropy,
} from "./rows/rows.ts";
import { prepareRowSteps } from "./rows/steps.ts";

const ROWS: Readonly<
  Record<Exclude<RowProgram, "topK" | "windowSum" | "windowResponse">, FastPrepare>
> = {
  softmax: prepareSoftmax(false),
  logSoftmax: prepareSoftmax(true),
  crossEntropy: prepareCrossEntropy,
  sparseCrossEntropy: prepareSparseCrossEntropy,
  layerNormGrad: prepareLayerNormGrad,
  multinomial: prepareMultinomial,
};

function rowsOf(program: RowProgram): FastPrepare | undefined {
  switch (program) {
    case "topK":
      return families.selections?.topK;
    case "windowSum":
    case "windowResponse":
      return families.windows?.[program];
    default:
      return ROWS[program];
  }
}

/** The vector kernel for a problem, or null. */
export function prepareFast(engine: Engine, { meaning }: OpDef, problem: Problem): FastRun | null {
  if (!engine.features.simd) return null;
  const pointwise = (exprs: readonly Expr[]): FastRun | null =>
    preparePointwise(engine, exprs, problem.inputs, problem.outputs[0].shape);
  const args = (): Expr[] => problem.inputs.map((_, i) => argument(i));
  switch (meaning.kind) {
    case "pointwise":
      if (meaning.sums) return prepareSum(engine, problem);
      return pointwise(meaning.exprs(args(), problem.attrs));
    case "update": {
      const exprs = meaning.exprs(args(), problem.attrs);
      const members = meaning.members?.(problem.attrs);
      return members ? prepareMembers(engine, problem, { exprs, ...members }) : pointwise(exprs);
    }
    case "copy":
      return prepareCopy(engine, problem, meaning);
    case "exchange":
      return prepareExchange(engine, problem, meaning);
    case "fill":
      return prepareFill(engine, problem, meaning);
    case "gather":
      return prepareGather(engine, problem, meaning.layout(problem));
    case "scatter":
      return prepareScatter(engine, problem, meaning);
    case "count":
      return prepareCount(engine, problem, meaning.of === "all");
    case "mark":
      return prepareOneHot(engine, problem);
    case "sample":
      return families.images?.[meaning.how](engine, problem) ?? null;
    case "reduce":
      return prepareReduction(engine, problem, meaning);
    case "arg reduce":
      return families.selections?.argReduce(engine, problem, meaning.op) ?? null;
    case "scan":
      return prepareScan(engine, problem, meaning.op);
    case "rows":
      return rowsOf(meaning.program)?.(engine, problem) ?? null;
    case "row steps":
      return prepareRowSteps(engine, problem, meaning);
    case "window":
      return families.windows?.pool(engine, problem, meaning) ?? null;
    case "product":
      return prepareProduct(engine, problem, meaning);
    default:
      return null;
  }
}

function prepareProduct(
  engine: Engine,
  problem: Problem,
  { of, gives, asFused }: MeaningOf<"product">,
): FastRun | null {
  const own = asFused ? asFused(problem) : problem;
  const epilogue = own && epilogueFor(own);
  if (own === null || epilogue === null) return null;
  // The epilogue says what its operands are.
  const inputs = own.inputs.slice(0, fusionOf(own.attrs)?.own);
  const sums = { ...own, inputs };
  if (of === "matrices") return gives === "result" ? prepareMatMul(engine, sums, epilogue) : null;
  return families.windows?.[of][gives](engine, sums, epilogue) ?? null;
}
