// What a square convolution with "same" padding is, as TensorFlow has it.

/** A window that moves over an image. */
export interface Window {
  /** Width and height of the image. */
  readonly size: number;
  readonly kernel: number;
  readonly stride: number;
}

/** A convolution. */
export interface Conv extends Window {
  readonly from: number;
  readonly to: number;
  readonly depthwise: boolean;
}

/** Padding before and after an axis. */
export interface Padding {
  readonly before: number;
  readonly after: number;
}

/** The output is size / stride rounded up, and the odd element goes after. */
export function samePadding({ size, kernel, stride }: Window): Padding {
  const total = Math.max(0, (Math.ceil(size / stride) - 1) * stride + kernel - size);
  return { before: Math.floor(total / 2), after: Math.ceil(total / 2) };
}
