// Reordering the axes of host arrays: jax-js keeps channels first, Weft and TensorFlow.js keep them last.

import { sizeOf } from "./random.ts";

/** Four extents. */
export type Shape4 = readonly [number, number, number, number];

/** Reorders the axes of a dense four-dimensional array. */
export function permute(
  values: ArrayLike<number>,
  shape: Shape4,
  order: Shape4,
): Float32Array<ArrayBuffer> {
  const strides = [shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1];
  const [a, b, c, d] = order.map((axis) => shape[axis]!) as unknown as Shape4;
  const [sa, sb, sc, sd] = order.map((axis) => strides[axis]!) as unknown as Shape4;
  const result = new Float32Array(sizeOf(shape));
  let at = 0;
  for (let i = 0; i < a; i++) {
    for (let j = 0; j < b; j++) {
      for (let k = 0; k < c; k++) {
        for (let l = 0; l < d; l++) result[at++] = values[i * sa + j * sb + k * sc + l * sd]!;
      }
    }
  }
  return result;
}
