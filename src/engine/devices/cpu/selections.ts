/**
 * The kernels that find the greatest elements of rows, and their places.
 */
export { prepareArgReduction as argReduce } from "./reduce/arg_reduce.ts";
export { prepareTopK as topK } from "./rows/topk.ts";
