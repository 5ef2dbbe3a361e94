/**
 * Which vector kernel an op has: one of a family, by its name, or one that follows from what it means.
 */
import type { OpDef, Problem } from "../../core/op.ts";
import { argument, type Expr } from "../../core/scalar/expr.ts";
import { meaningOf } from "../../kernels/host/meaning.ts";
import { CONV_KERNELS } from "./conv/conv.ts";
import { prepareCopy } from "./copy/copy.ts";
import { COUNT_KERNELS } from "./copy/count.ts";
import { FILL_KERNELS } from "./copy/fill.ts";
import { prepareGather, prepareScatter } from "./copy/indexed_rows.ts";
import { prepareExchange } from "./copy/join.ts";
import { ONE_HOT_KERNEL } from "./copy/one_hot.ts";
import { DEPTHWISE_KERNELS } from "./depthwise/depthwise.ts";
import type { Engine } from "./engine.ts";
import type { FastPrepare, FastRun } from "./fast.ts";
import { MATMUL_KERNELS } from "./gemm/gemm.ts";
import { CROP_KERNELS } from "./image/crop.ts";
import { RESIZE_KERNELS } from "./image/resize.ts";
import { WARP_KERNELS } from "./image/warp.ts";
import { preparePointwise } from "./pointwise/pointwise.ts";
import { POINTWISE_KERNELS, prepareSum } from "./pointwise/pointwise_groups.ts";
import { POOL_KERNELS } from "./pool/pool.ts";
import { MULTINOMIAL_KERNEL } from "./random/multinomial.ts";
import { RANDOM_KERNELS } from "./random/random.ts";
import { ARG_KERNELS } from "./reduce/arg_reduce.ts";
import { BOOL_KERNELS } from "./reduce/bool_reduce.ts";
import { REDUCE_KERNELS } from "./reduce/reduce.ts";
import { SCAN_KERNELS } from "./reduce/scan.ts";
import { ROW_KERNELS } from "./rows/rows.ts";
import { TOPK_KERNEL } from "./rows/topk.ts";
import { WINDOW_SUM_KERNELS } from "./rows/window_sum.ts";

const kernels: ReadonlyMap<string, FastPrepare> = new Map<string, FastPrepare>([
  ...ARG_KERNELS,
  ...BOOL_KERNELS,
  ...CONV_KERNELS,
  ...COUNT_KERNELS,
  ...CROP_KERNELS,
  ...DEPTHWISE_KERNELS,
  ...FILL_KERNELS,
  ...MATMUL_KERNELS,
  ...POINTWISE_KERNELS,
  ...POOL_KERNELS,
  ...RANDOM_KERNELS,
  ...REDUCE_KERNELS,
  ...RESIZE_KERNELS,
  ...ROW_KERNELS,
  ...SCAN_KERNELS,
  ...WARP_KERNELS,
  ...WINDOW_SUM_KERNELS,
  MULTINOMIAL_KERNEL,
  ONE_HOT_KERNEL,
  TOPK_KERNEL,
]);

/** The vector kernel for a problem, or null. */
export function prepareFast(engine: Engine, def: OpDef, problem: Problem): FastRun | null {
  if (!engine.features.simd) return null;
  const prepare = kernels.get(def.name);
  if (prepare) return prepare(engine, problem, def);
  const { copy, exchange, gather, scatter, sum } = meaningOf(def) ?? {};
  if (copy) return prepareCopy(engine, problem, copy);
  if (exchange) return prepareExchange(engine, problem, exchange);
  if (gather) return prepareGather(engine, problem, gather(problem));
  if (scatter) return prepareScatter(engine, problem, scatter);
  if (sum) return prepareSum(engine, problem, def);
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
