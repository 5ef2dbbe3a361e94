/**
 * The namespace `tf.fused`.
 * May import other ops.
 */
export { fusedConv2d as conv2d, fusedDepthwiseConv2d as depthwiseConv2d } from "./fused_conv.ts";
export { fusedMatMul as matMul } from "./fused_matmul.ts";
