/**
 * The kernels that GPU devices run, for {@linkcode onGpu}: only such a device loads this file. Those of windows and images stand in
 * `gpu_windows.ts`.
 */
export * from "./reduce/arg_reduce.ts";
export * from "./rows/attention.ts";
export * from "./copy/variants.ts";
export * from "./reduce/count.ts";
export * from "./copy/gather.ts";
export * from "./reduce/grouped_update.ts";
export * from "./pointwise/half.ts";
export * from "./pointwise/linalg.ts";
export * from "./matmul/variants.ts";
export * from "./matmul/plan.ts";
export * from "./rows/norm.ts";
export * from "./pointwise/variants.ts";
export * from "./pointwise/random.ts";
export * from "./reduce/variants.ts";
export * from "./reduce/scan.ts";
export * from "./reduce/scan_linear.ts";
export * from "./copy/scatter.ts";
export * from "./rows/softmax.ts";
export * from "./rows/steps.ts";
export * from "./rows/topk.ts";
export * from "./rows/topk_search.ts";
export * from "./copy/transpose.ts";
