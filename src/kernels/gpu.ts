/**
 * The kernels that GPU devices run, for {@linkcode onGpu}: only such a device loads this file.
 * May import this folder.
 */
export * from "./arg_reduce_gpu.ts";
export * from "./attention_gpu.ts";
export * from "./conv_depthwise_gpu.ts";
export * from "./conv_gpu.ts";
export * from "./conv_plan.ts";
export * from "./copy_gpu.ts";
export * from "./count_gpu.ts";
export * from "./dilation_gpu.ts";
export * from "./gather_gpu.ts";
export * from "./grouped_update.ts";
export * from "./half_gpu.ts";
export * from "./image_crop_gpu.ts";
export * from "./image_resize_gpu.ts";
export * from "./linalg_gpu.ts";
export * from "./matmul_gpu.ts";
export * from "./matmul_plan.ts";
export * from "./norm_gpu.ts";
export * from "./pointwise_gpu.ts";
export * from "./pool_gpu.ts";
export * from "./random_gpu.ts";
export * from "./reduce_gpu.ts";
export * from "./scan_gpu.ts";
export * from "./scan_linear_gpu.ts";
export * from "./scatter_gpu.ts";
export * from "./softmax_gpu.ts";
export * from "./topk_gpu.ts";
export * from "./topk_search_gpu.ts";
export * from "./transpose_gpu.ts";
