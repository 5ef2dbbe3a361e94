/**
 * The kernels of convolutions, pools and images on GPU devices, for {@linkcode onGpu}: loaded where an op has use for them.
 */
export * from "./conv/depthwise.ts";
export * from "./conv/variants.ts";
export * from "./conv/plan.ts";
export * from "./pool/dilation.ts";
export * from "./image/crop.ts";
export * from "./image/resize.ts";
export * from "./pool/variants.ts";
