// A few operations in float64, for the expected values of whole networks. Plain loops: clarity before speed.

import { type Conv, samePadding } from "./conv_shape.ts";

/** A product [m, k] × [k, n]. */
export function matmul64(
  a: ArrayLike<number>,
  b: ArrayLike<number>,
  [m, k, n]: readonly [number, number, number],
): Float64Array {
  const result = new Float64Array(m * n);
  for (let row = 0; row < m; row++) {
    for (let i = 0; i < k; i++) {
      const value = a[row * k + i]!;
      if (value === 0) continue;
      for (let column = 0; column < n; column++) {
        const at = row * n + column;
        result[at] = result[at]! + value * b[i * n + column]!;
      }
    }
  }
  return result;
}

/** Rows of [rows, width], each with zero mean and unit variance. */
export function layerNorm64(x: Float64Array, width: number, epsilon: number): Float64Array {
  const result = new Float64Array(x.length);
  for (let start = 0; start < x.length; start += width) {
    const row = x.subarray(start, start + width);
    const mean = row.reduce((sum, value) => sum + value, 0) / width;
    const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width;
    for (const [i, value] of row.entries()) {
      result[start + i] = (value - mean) / Math.sqrt(variance + epsilon);
    }
  }
  return result;
}

/** Mean cross entropy of logits [labels.length, classes]. */
export function crossEntropy64(
  logits: Float64Array,
  labels: ArrayLike<number>,
  classes: number,
): number {
  let loss = 0;
  for (let row = 0; row < labels.length; row++) {
    const values = logits.subarray(row * classes, (row + 1) * classes);
    const largest = Math.max(...values);
    const total = values.reduce((sum, value) => sum + Math.exp(value - largest), 0);
    loss += Math.log(total) + largest - values[labels[row]!]!;
  }
  return loss / labels.length;
}

/** A 3×3 convolution with "same" padding, relu, and a 2×2 max pool: [batch, size, size, from] to half the size. */
export function convReluPool64(
  x: ArrayLike<number>,
  filter: ArrayLike<number>,
  { batch, size, from, to }: { batch: number; size: number; from: number; to: number },
): Float64Array {
  const half = size / 2;
  // Zero stands for relu: a pool of negative values gives it.
  const result = new Float64Array(batch * half * half * to);
  const values = new Float64Array(to);
  for (let n = 0; n < batch; n++) {
    for (let y = 0; y < size; y++) {
      for (let z = 0; z < size; z++) {
        values.fill(0);
        for (let tap = 0; tap < 9; tap++) {
          const [row, column] = [y + Math.floor(tap / 3) - 1, z + tap % 3 - 1];
          if (row < 0 || row >= size || column < 0 || column >= size) continue;
          for (let c = 0; c < from; c++) {
            const value = x[((n * size + row) * size + column) * from + c]!;
            const start = (tap * from + c) * to;
            for (let k = 0; k < to; k++) values[k] = values[k]! + value * filter[start + k]!;
          }
        }
        const start = ((n * half + (y >> 1)) * half + (z >> 1)) * to;
        for (let k = 0; k < to; k++) {
          result[start + k] = Math.max(result[start + k]!, values[k]!);
        }
      }
    }
  }
  return result;
}

/** A convolution of one image with "same" padding; with as many filters as channels and a depth of one it is depthwise. */
export function conv64(
  x: ArrayLike<number>,
  filter: ArrayLike<number>,
  { size, from, to, kernel, stride, depthwise }: Conv,
): Float64Array {
  const out = Math.ceil(size / stride);
  const { before } = samePadding({ size, kernel, stride });
  const result = new Float64Array(out * out * to);
  for (let place = 0; place < out * out; place++) {
    const values = result.subarray(place * to, (place + 1) * to);
    for (let tap = 0; tap < kernel * kernel; tap++) {
      const row = Math.floor(place / out) * stride + Math.floor(tap / kernel) - before;
      const column = place % out * stride + tap % kernel - before;
      if (row < 0 || row >= size || column < 0 || column >= size) continue;
      for (let c = 0; c < from; c++) {
        const value = x[(row * size + column) * from + c]!;
        if (depthwise) values[c] = values[c]! + value * filter[tap * from + c]!;
        else {
          const start = (tap * from + c) * to;
          for (let k = 0; k < to; k++) values[k] = values[k]! + value * filter[start + k]!;
        }
      }
    }
  }
  return result;
}
