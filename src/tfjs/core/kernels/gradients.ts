/** Differences between the gradients of TensorFlow.js's kernels and those of our ops. */

/**
 * Ops that have no gradient for these inputs, where that of TensorFlow.js's kernel is zeros. Its other kernels without one throw, as
 * our ops do.
 */
export const FLAT: Readonly<Record<string, readonly number[]>> = {
  ArgMax: [0],
  ArgMin: [0],
  GreaterEqual: [0, 1],
  IsFinite: [0],
  IsInf: [0],
  IsNan: [0],
  OneHot: [0],
  OnesLike: [0],
  SelectV2: [0],
  ZerosLike: [0],
};

/** Ops of which TensorFlow.js takes the gradient of another. */
export const STAND_INS: Readonly<Record<string, string>> = { FloorDiv: "RealDiv" };
