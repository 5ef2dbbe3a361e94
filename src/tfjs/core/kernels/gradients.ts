/**
 * Where gradients of TensorFlow.js's kernels differ from those of our ops.
 */

/**
 * Ops that have no gradient for these inputs, where that of TensorFlow.js's kernel is zeros. Its other kernels without one throw, as
 * our ops do.
 */
const FLAT: Readonly<Record<string, readonly number[]>> = {
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
const STANDING_IN: Readonly<Record<string, string>> = { FloorDiv: "RealDiv" };

/** True where the gradient of an op for an input is zeros. */
export function isFlat(op: string, input: number): boolean {
  return FLAT[op]?.includes(input) ?? false;
}

/** True where the gradient of an op for some input is zeros. */
export function hasFlatInput(op: string): boolean {
  return op in FLAT;
}

/** The op whose gradient an op has. */
export function gradientOp(op: string): string {
  return STANDING_IN[op] ?? op;
}
