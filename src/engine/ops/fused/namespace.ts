/** The namespace `tf.fused`. */
export { fusedConv2d as conv2d, fusedDepthwiseConv2d as depthwiseConv2d } from "./conv.ts";
export { fusedMatMul as matMul } from "./matmul.ts";
export type { Activation } from "./activation.ts";
