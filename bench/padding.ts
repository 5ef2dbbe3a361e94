// "Same" padding as TensorFlow has it.

/** What lies before and after an axis. */
export interface Padding {
  readonly before: number;
  readonly after: number;
}

/** "Same" padding of a window over an axis: the output is size / stride rounded up, and the odd element goes after. */
export function samePadding(
  { size, kernel, stride }: { size: number; kernel: number; stride: number },
): Padding {
  const total = Math.max(0, (Math.ceil(size / stride) - 1) * stride + kernel - size);
  return { before: Math.floor(total / 2), after: Math.ceil(total / 2) };
}
