/** The network of two layers by which ways to train are tried, and what these programs say often. */

import * as tf from "@weft/weft";
import type { Start } from "./values.ts";

/** Its variables. */
export const NETWORK: Record<string, Start> = { w: [3, 4], b: [4], o: [4, 2] };
/** A batch for it. */
export const DATA: Record<string, Start> = { x: [5, 3], y: [5, 2] };

/** Applies the network to a batch. */
export function network(
  x: tf.Tensor,
  { w, b, o }: { readonly [name: string]: tf.Tensor },
): tf.Tensor {
  return tf.matMul(tf.tanh(tf.add(tf.matMul(x, w), b)), o);
}

/** The mean of the squares. */
export function meanSquare(x: tf.Tensor): tf.Tensor {
  return tf.mean(tf.square(x));
}

/** The gradient of a tape, which must be connected. */
export function gradient(tape: tf.GradientTape, y: tf.Tensor, x: tf.Tensor): tf.Tensor {
  return tape.gradient(y, x) as tf.Tensor;
}

/** The gradients of a tape, zero where they are not connected. */
export function gradients(
  tape: tf.GradientTape,
  y: tf.Tensor,
  xs: readonly tf.Tensor[],
): tf.Tensor[] {
  return tape.gradient(y, xs, { unconnectedGradients: "zero" }) as tf.Tensor[];
}
