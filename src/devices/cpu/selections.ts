/**
 * The kernels that find the greatest elements of rows, and their places.
 */
import type { FastPrepare } from "./fast.ts";
import { prepareArgReduction } from "./reduce/arg_reduce.ts";
import { prepareTopK } from "./rows/topk.ts";

/** By what is found. */
export const SELECTIONS: {
  readonly argReduce: typeof prepareArgReduction;
  readonly topK: FastPrepare;
} = { argReduce: prepareArgReduction, topK: prepareTopK };
