/** Vectorised bodies, and the shapes that they were called with. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";

/** Shapes that bodies were called with: all arguments of a call are one text. */
export const calls: string[] = [];
/** Takes the shapes noted since it was last asked. */
export const taken = (): string[] => calls.splice(0);
/** Notes a call with these arguments. */
export const seen = (...xs: readonly { readonly shape: readonly number[] }[]): void => {
  calls.push(xs.map((x) => x.shape.join("x")).join(","));
};

/** A row. */
export const ROW: tf.TensorSpec = tf.TensorSpec([2], "float32");
/** Three rows. */
export const X: number[][] = [[1, 2], [3, 4], [5, 6]];
/** Options of a vectorised script. */
export const OPTIONS = { vectorized: true } as const;

/** Doubles an array. */
export function doubled(x: tf.NdArray): tf.NdArray {
  seen(x);
  return x.map((v) => 2 * Number(v));
}
function cubed(x: tf.Tensor): tf.Tensor {
  seen(x);
  return tf.mul(x, tf.square(x));
}
/** Doubles a row by a body of arrays. */
export const double = (x: tf.Tensor): tf.Tensor =>
  tf.numpyFunction(doubled, [x], ROW, {
    ...OPTIONS,
    vjp: ({ inputs: [x], outputs: [y] }, dy) => {
      // A batch, of so many rows as are only known when it runs.
      assertEquals([x, y, dy].map((t) => t!.rank), [2, 2, 2]);
      return tf.mul(dy, 2);
    },
  });
/** The third power of a row, by a body of tensors. */
export const cube = (x: tf.Tensor): tf.Tensor => tf.pyFunction(cubed, [x], ROW, OPTIONS);
