// Stand-in for the few functions and constants of TensorFlow.js's internal util modules that its op tests use.

/** Reduction length at which TensorFlow.js changes algorithm; tests choose sizes around it. */
export const PARALLELIZE_THRESHOLD = 30;

/** Width of the window in which TensorFlow.js reduces `size` values. */
export function computeOptimalWindowSize(size: number): number {
  if (size <= PARALLELIZE_THRESHOLD) return size;
  for (let window = Math.floor(Math.sqrt(size)); window > 1; window--) {
    if (size % window === 0) return window;
  }
  return size;
}

/** Number of elements of a shape. */
export function sizeFromShape(shape: readonly number[]): number {
  return shape.reduce((size, dim) => size * dim, 1);
}

/** UTF-8 bytes of a text. */
export function encodeString(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Hyperbolic tangent, the expected value of tests of `tanh`. */
export function tanh(x: number): number {
  return Math.tanh(x);
}
