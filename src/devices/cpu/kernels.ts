/**
 * The table of vector kernels: which op, in which shapes and dtypes, runs on what.
 * May import core, kernels and this folder.
 */
import type { OpDef, Problem } from "../../core/op.ts";
import { argument, type Expr } from "../../core/scalar.ts";
import type { Epilogue } from "../../kernels/gemm_epilogue.ts";
import { meaningOf } from "../../kernels/host_meaning.ts";
import { prepareConv, prepareInputGradient } from "./conv/conv.ts";
import { prepareFilterGradient } from "./conv/conv_filter.ts";
import { prepareCopy } from "./copy/copy.ts";
import { COUNT_KERNELS } from "./copy/count.ts";
import { FILL_KERNELS } from "./copy/fill.ts";
import { prepareGather, prepareScatter } from "./copy/indexed_rows.ts";
import { prepareExchange } from "./copy/join.ts";
import { ONE_HOT_KERNEL } from "./copy/one_hot.ts";
import {
  prepareDepthwise,
  prepareDepthwiseFilterGradient,
  prepareDepthwiseInputGradient,
} from "./depthwise/depthwise.ts";
import type { Engine } from "./engine.ts";
import type { FastPrepare, FastRun } from "./fast.ts";
import { prepareMatMul } from "./gemm/gemm.ts";
import type { Finish } from "./gemm/gemm_tile.ts";
import { CROP_KERNELS } from "./image/crop.ts";
import { RESIZE_KERNELS } from "./image/resize.ts";
import { WARP_KERNELS } from "./image/warp.ts";
import { preparePointwise } from "./pointwise/pointwise.ts";
import { POOL_KERNELS } from "./pool/pool.ts";
import { MULTINOMIAL_KERNEL } from "./random/multinomial.ts";
import { RANDOM_KERNELS } from "./random/random.ts";
import { ARG_KERNELS } from "./reduce/arg_reduce.ts";
import { BOOL_KERNELS } from "./reduce/bool_reduce.ts";
import { prepareFusedReduction, reduction } from "./reduce/reduce.ts";
import { SCAN_KERNELS } from "./reduce/scan.ts";
import { ROW_KERNELS } from "./rows/rows.ts";
import { TOPK_KERNEL } from "./rows/topk.ts";
import { WINDOW_SUM_KERNELS } from "./rows/window_sum.ts";

/** A kernel that applies a finish to each of its sums. */
type Finishing = (engine: Engine, problem: Problem, finish?: Finish) => FastRun | null;

const plain = (prepare: Finishing): FastPrepare => (engine, problem) => prepare(engine, problem);

/** The finish is what the op means. */
const fused = (prepare: Finishing): FastPrepare => (engine, problem, def) => {
  const epilogue = meaningOf(def)?.epilogue?.(problem);
  return epilogue ? prepare(engine, problem, finishOf(epilogue)) : null;
};

function finishOf({ expr, operands }: Epilogue): Finish {
  return { expr, operands: operands.map((o) => o.per) };
}

/** Several expressions of the same inputs. */
const prepareFused: FastPrepare = (engine, { inputs, outputs, attrs }) =>
  preparePointwise(engine, attrs.exprs as Expr[], inputs, outputs[0].shape);

/** The same expressions for each member: shared scalars, then the member's arrays. */
const prepareGrouped: FastPrepare = (engine, { inputs, outputs, attrs }) => {
  const { exprs, scalars, arrays } = attrs as { exprs: Expr[]; scalars: number; arrays: number };
  const each: FastRun[] = [];
  for (let m = 0; m * exprs.length < outputs.length; m++) {
    const own = [
      ...inputs.slice(0, scalars),
      ...inputs.slice(scalars + m * arrays, scalars + (m + 1) * arrays),
    ];
    const run = preparePointwise(engine, exprs, own, outputs[m * exprs.length].shape);
    if (run === null) return null;
    each.push((outs, ins) =>
      run(outs.slice(m * exprs.length, (m + 1) * exprs.length), [
        ...ins.slice(0, scalars),
        ...ins.slice(scalars + m * arrays, scalars + (m + 1) * arrays),
      ])
    );
  }
  return (outs, ins) => each.forEach((run) => run(outs, ins));
};

const kernels: ReadonlyMap<string, FastPrepare> = new Map<string, FastPrepare>([
  ["MatMul", plain(prepareMatMul)],
  ["BatchMatMul", plain(prepareMatMul)],
  ["BatchMatMulV2", plain(prepareMatMul)],
  ["_MatMulEpilogue", fused(prepareMatMul)],
  ["_BatchMatMulV2Epilogue", fused(prepareMatMul)],
  ["_FusedMatMul", fused(prepareMatMul)],
  ["Conv2D", plain(prepareConv)],
  ["Conv3D", plain(prepareConv)],
  ["_Conv2DEpilogue", fused(prepareConv)],
  ["_FusedConv2D", fused(prepareConv)],
  ["Conv2DBackpropInput", prepareInputGradient],
  ["Conv3DBackpropInputV2", prepareInputGradient],
  ["Conv2DBackpropFilter", prepareFilterGradient],
  ["Conv3DBackpropFilterV2", prepareFilterGradient],
  ["DepthwiseConv2dNative", plain(prepareDepthwise)],
  ["_DepthwiseConv2dNativeEpilogue", fused(prepareDepthwise)],
  ["_FusedDepthwiseConv2dNative", fused(prepareDepthwise)],
  ["DepthwiseConv2dNativeBackpropInput", prepareDepthwiseInputGradient],
  ["DepthwiseConv2dNativeBackpropFilter", prepareDepthwiseFilterGradient],
  ["_FusedPointwise", prepareFused],
  ["_GroupedUpdate", prepareGrouped],
  ["Sum", reduction("sum")],
  ["Mean", reduction("mean")],
  ["Prod", reduction("prod")],
  ["Max", reduction("max")],
  ["Min", reduction("min")],
  ["_FusedSum", prepareFusedReduction],
  ["_FusedMean", prepareFusedReduction],
  ["_FusedProd", prepareFusedReduction],
  ["_FusedMax", prepareFusedReduction],
  ["_FusedMin", prepareFusedReduction],
  ...ARG_KERNELS,
  ...BOOL_KERNELS,
  ...COUNT_KERNELS,
  ...FILL_KERNELS,
  MULTINOMIAL_KERNEL,
  ONE_HOT_KERNEL,
  ...POOL_KERNELS,
  ...RANDOM_KERNELS,
  ...RESIZE_KERNELS,
  ...CROP_KERNELS,
  ...ROW_KERNELS,
  ...SCAN_KERNELS,
  ...WARP_KERNELS,
  ...WINDOW_SUM_KERNELS,
  TOPK_KERNEL,
]);

/** The vector kernel for a problem, or null. */
export function prepareFast(engine: Engine, def: OpDef, problem: Problem): FastRun | null {
  if (!engine.features.simd) return null;
  const prepare = kernels.get(def.name);
  if (prepare) return prepare(engine, problem, def);
  const { copy, exchange, gather, scatter } = meaningOf(def) ?? {};
  if (copy) return prepareCopy(engine, problem, copy);
  if (exchange) return prepareExchange(engine, problem, exchange);
  if (gather) return prepareGather(engine, problem, gather(problem));
  if (scatter) return prepareScatter(engine, problem, scatter);
  const exprs = expressionsOf(def, problem);
  return exprs && preparePointwise(engine, exprs, problem.inputs, problem.outputs[0].shape);
}

function expressionsOf(def: OpDef, problem: Problem): readonly Expr[] | null {
  const { inputs, attrs } = problem;
  const args = inputs.map((_, i) => argument(i));
  if (def.pointwiseAll) return def.pointwiseAll(args, attrs);
  const meaning = meaningOf(def)?.pointwise;
  if (meaning) return meaning(problem);
  return def.pointwise ? [def.pointwise(args, attrs)] : null;
}
