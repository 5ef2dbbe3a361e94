/** GPU kernels of all ops but those of windows and images. */
import type { GpuVariant } from "../core/dispatch.ts";
import type { RowProgram, SequenceKernel, SpecialKernel } from "../core/meaning.ts";
import { fillVariants } from "./copy/fill.ts";
import { gatherVariants } from "./copy/gather.ts";
import { exchangeVariants } from "./copy/join.ts";
import { markVariants } from "./copy/number.ts";
import { firstEqualVariants, ontoVariants, scatterVariants } from "./copy/scatter.ts";
import { copyVariants } from "./copy/variants.ts";
import type { GpuKernels } from "./gpu_kernels.ts";
import { sumVariants } from "./matmul/fused.ts";
import { LEVELS_VARIANTS } from "./matmul/levels.ts";
import { COMPLEX_PRODUCT } from "./matmul/complex_product.ts";
import { MATMUL_VARIANTS, NORMED_VARIANTS } from "./matmul/variants.ts";
import { BAND_PART_VARIANTS } from "./pointwise/linalg.ts";
import { pointwiseVariants, updateVariants } from "./pointwise/pointwise_variants.ts";
import { multinomialVariants } from "./pointwise/random.ts";
import { argReduceVariants } from "./reduce/arg_reduce.ts";
import { countVariants } from "./reduce/count.ts";
import { columnSumVariants } from "./reduce/grouped_update.ts";
import { scanVariants } from "./reduce/scan.ts";
import { linearScanVariants, shiftVariants } from "./reduce/scan_linear.ts";
import { reduceVariants } from "./reduce/variants.ts";
import { ATTENTION_VARIANTS } from "./rows/attention.ts";
import { ATTENTION_GRADIENT_VARIANTS } from "./rows/attention_gradient.ts";
import { RECURRENCE_VARIANTS } from "./rows/recurrence.ts";
import { layerNormGradVariants, lrnVariants, windowSumVariants } from "./rows/norm.ts";
import {
  crossEntropyVariants,
  logSoftmaxVariants,
  softmaxVariants,
  sparseCrossEntropyVariants,
} from "./rows/softmax.ts";
import { rowStepVariants } from "./rows/steps.ts";
import { topkVariants } from "./rows/topk.ts";
import { pickVariants, placeVariants, searchVariants } from "./rows/topk_search.ts";

const ROWS: Readonly<Record<RowProgram, readonly GpuVariant[]>> = {
  softmax: softmaxVariants,
  logSoftmax: logSoftmaxVariants,
  crossEntropy: crossEntropyVariants,
  sparseCrossEntropy: sparseCrossEntropyVariants,
  layerNormGrad: layerNormGradVariants,
  multinomial: multinomialVariants,
};

const SPECIAL: Readonly<Record<SpecialKernel, readonly GpuVariant[]>> = {
  "band part": BAND_PART_VARIANTS,
  "column sums": columnSumVariants,
  "first equal": firstEqualVariants,
  "linear scan": linearScanVariants,
  "lower bound": searchVariants(false),
  "onto rows": ontoVariants,
  "pick": pickVariants,
  "place": placeVariants,
  "shift": shiftVariants,
  "upper bound": searchVariants(true),
};

/** The variants of sequences. */
const SEQUENCES: Readonly<Record<SequenceKernel, readonly GpuVariant[]>> = {
  "attention": ATTENTION_VARIANTS,
  "attention gradient": ATTENTION_GRADIENT_VARIANTS,
  "recurrence": RECURRENCE_VARIANTS,
};

/** By kind. */
export const kernels: Pick<
  GpuKernels,
  | "pointwise"
  | "update"
  | "copy"
  | "exchange"
  | "fill"
  | "gather"
  | "scatter"
  | "count"
  | "mark"
  | "reduce"
  | "arg reduce"
  | "scan"
  | "top"
  | "neighbors"
  | "rows"
  | "row steps"
  | "product"
  | "quantised product"
  | "sequence"
  | "special"
> = {
  "pointwise": pointwiseVariants,
  "update": updateVariants,
  "copy": copyVariants,
  "exchange": exchangeVariants,
  "fill": fillVariants,
  "gather": gatherVariants,
  "scatter": scatterVariants,
  "count": countVariants,
  "mark": () => markVariants,
  "reduce": reduceVariants,
  "arg reduce": ({ op }) => argReduceVariants(op),
  "scan": ({ op }) => scanVariants(op),
  "top": () => topkVariants,
  "neighbors": ({ gives }) => (gives === "sum" ? windowSumVariants : lrnVariants),
  "rows": ({ program }) => ROWS[program],
  "row steps": rowStepVariants,
  "product": (meaning) =>
    meaning.of === "normed"
      ? NORMED_VARIANTS
      : meaning.of === "halves"
      ? MATMUL_VARIANTS
      : meaning.asFused
      ? sumVariants(MATMUL_VARIANTS, meaning)
      : [...MATMUL_VARIANTS, COMPLEX_PRODUCT],
  "quantised product": () => LEVELS_VARIANTS,
  "sequence": ({ kernel }) => SEQUENCES[kernel],
  "special": ({ kernel }) => SPECIAL[kernel],
};
