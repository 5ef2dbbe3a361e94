/**
 * Which vector kernel an op has: one that follows from what it means.
 */
import type { MeaningOf, RowProgram } from "../../core/meaning.ts";
import type { OpDef, Problem } from "../../core/op.ts";
import { argument, type Expr } from "../../core/scalar/expr.ts";
import { prepareConv, prepareInputGradient } from "./conv/conv.ts";
import { prepareFilterGradient } from "./conv/conv_filter.ts";
import { prepareCopy } from "./copy/copy.ts";
import { prepareCount } from "./copy/count.ts";
import { prepareFill } from "./copy/fill.ts";
import { prepareGather, prepareScatter } from "./copy/indexed_rows.ts";
import { prepareExchange } from "./copy/join.ts";
import { prepareOneHot } from "./copy/one_hot.ts";
import {
  prepareDepthwise,
  prepareDepthwiseFilterGradient,
  prepareDepthwiseInputGradient,
} from "./depthwise/depthwise.ts";
import type { Engine } from "./engine.ts";
import type { FastPrepare, FastRun } from "./fast.ts";
import { epilogueFor, type SumsPrepare } from "./gemm/epilogue.ts";
import { prepareMatMul } from "./gemm/gemm.ts";
import { prepareCrop } from "./image/crop.ts";
import { prepareBilinear, prepareNearest } from "./image/resize.ts";
import { prepareRotation, prepareTransform } from "./image/warp.ts";
import { preparePointwise } from "./pointwise/pointwise.ts";
import { prepareMembers, prepareSum } from "./pointwise/pointwise_groups.ts";
import { preparePool } from "./pool/pool.ts";
import { prepareMultinomial } from "./random/multinomial.ts";
import { prepareArgReduction } from "./reduce/arg_reduce.ts";
import { prepareReduction } from "./reduce/reduce.ts";
import { prepareScan } from "./reduce/scan.ts";
import {
  prepareCrossEntropy,
  prepareLayerNorm,
  prepareLayerNormGrad,
  prepareLogSoftmaxGrad,
  prepareSoftmax,
  prepareSoftmaxGrad,
  prepareSparseCrossEntropy,
} from "./rows/rows.ts";
import { prepareTopK } from "./rows/topk.ts";
import { prepareResponse, prepareWindowSum } from "./rows/window_sum.ts";

const ROWS: Readonly<Record<RowProgram, FastPrepare>> = {
  softmax: prepareSoftmax(false),
  logSoftmax: prepareSoftmax(true),
  softmaxGrad: prepareSoftmaxGrad,
  logSoftmaxGrad: prepareLogSoftmaxGrad,
  crossEntropy: prepareCrossEntropy,
  sparseCrossEntropy: prepareSparseCrossEntropy,
  layerNorm: prepareLayerNorm,
  layerNormGrad: prepareLayerNormGrad,
  windowSum: prepareWindowSum,
  windowResponse: prepareResponse,
  topK: prepareTopK,
  multinomial: prepareMultinomial,
};

const SAMPLES: Readonly<Record<MeaningOf<"sample">["how"], FastPrepare>> = {
  bilinear: prepareBilinear,
  nearest: prepareNearest,
  crop: prepareCrop,
  transform: prepareTransform,
  rotation: prepareRotation,
};

type Product = MeaningOf<"product">;
const PRODUCTS: Readonly<Record<Product["of"], Partial<Record<Product["gives"], SumsPrepare>>>> = {
  matrices: { result: prepareMatMul },
  windows: {
    "result": prepareConv,
    "input gradient": prepareInputGradient,
    "filter gradient": prepareFilterGradient,
  },
  channels: {
    "result": prepareDepthwise,
    "input gradient": prepareDepthwiseInputGradient,
    "filter gradient": prepareDepthwiseFilterGradient,
  },
};

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
      return SAMPLES[meaning.how](engine, problem);
    case "reduce":
      return prepareReduction(engine, problem, meaning.op);
    case "arg reduce":
      return prepareArgReduction(engine, problem, meaning.op);
    case "scan":
      return prepareScan(engine, problem, meaning.op);
    case "rows":
      return ROWS[meaning.program](engine, problem);
    case "window":
      return preparePool(engine, problem, meaning);
    case "product":
      return prepareProduct(engine, problem, meaning);
    default:
      return null;
  }
}

function prepareProduct(
  engine: Engine,
  problem: Problem,
  { of, gives, asFused }: Product,
): FastRun | null {
  const own = asFused ? asFused(problem) : problem;
  const epilogue = own && epilogueFor(own);
  if (own === null || epilogue === null) return null;
  return PRODUCTS[of][gives]?.(engine, own, epilogue) ?? null;
}
