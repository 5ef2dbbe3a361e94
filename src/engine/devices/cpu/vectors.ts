/** The vector kernels of most kinds. */
import type { RowProgram } from "../../core/meaning.ts";
import { argument, type Expr } from "../../core/scalar/expr.ts";
import type { Problem } from "../../core/op.ts";
import { prepareCopy } from "./copy/copy.ts";
import { prepareFill, prepareOneHot } from "./copy/fill.ts";
import { prepareGather, prepareScatter } from "./copy/indexed_rows.ts";
import { prepareExchange } from "./copy/join.ts";
import type { Engine } from "./engine.ts";
import type { FastPrepare, FastRun } from "./fast.ts";
import { prepareSums } from "./gemm/epilogue.ts";
import { prepareMatMul } from "./gemm/gemm.ts";
import type { KernelsOf } from "./kernel_table.ts";
import { code } from "./prepare.ts";
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

const ROWS: Readonly<Record<RowProgram, FastPrepare>> = {
  softmax: prepareSoftmax(false),
  logSoftmax: prepareSoftmax(true),
  crossEntropy: prepareCrossEntropy,
  sparseCrossEntropy: prepareSparseCrossEntropy,
  layerNormGrad: prepareLayerNormGrad,
  multinomial: prepareMultinomial,
};

function args({ inputs }: Problem): Expr[] {
  return inputs.map((_, i) => argument(i));
}

function pointwise(engine: Engine, problem: Problem, exprs: readonly Expr[]): FastRun | null {
  return preparePointwise(engine, exprs, problem.inputs, problem.outputs[0].shape);
}

/** By kind. */
export const kernels: KernelsOf<
  | "pointwise"
  | "update"
  | "copy"
  | "exchange"
  | "fill"
  | "gather"
  | "scatter"
  | "mark"
  | "reduce"
  | "scan"
  | "rows"
  | "row steps"
  | "product"
> = {
  code,
  "pointwise": (engine, problem, { exprs, sums }) =>
    sums
      ? prepareSum(engine, problem)
      : pointwise(engine, problem, exprs(args(problem), problem.attrs)),
  "update": (engine, problem, meaning) => {
    const exprs = meaning.exprs(args(problem), problem.attrs);
    const members = meaning.members?.(problem.attrs);
    return members
      ? prepareMembers(engine, problem, { exprs, ...members })
      : pointwise(engine, problem, exprs);
  },
  "copy": prepareCopy,
  "exchange": prepareExchange,
  "fill": prepareFill,
  "gather": (engine, problem, { layout }) => prepareGather(engine, problem, layout(problem)),
  "scatter": prepareScatter,
  "mark": prepareOneHot,
  "reduce": prepareReduction,
  "scan": (engine, problem, { op }) => prepareScan(engine, problem, op),
  "rows": (engine, problem, { program }) => ROWS[program](engine, problem),
  "row steps": prepareRowSteps,
  "product": (engine, problem, meaning) => {
    if (meaning.of !== undefined) return null;
    return prepareSums(engine, problem, meaning, prepareMatMul);
  },
};
