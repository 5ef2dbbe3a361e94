/**
 * Gradients of programs.
 *
 * @module
 */

import * as tf from "@weft/weft";
import type { Body } from "./program.ts";

/** Both parts of complex numbers, unlike weighed. */
function partsSum(y: tf.Tensor): tf.Tensor {
  return tf.add(tf.real(y), tf.mul(tf.imag(y), -2));
}

/** A loss of each result that has a gradient. */
export function lossOf(outputs: readonly tf.Tensor[]): tf.Tensor[] {
  return outputs.filter((y) => /^(float|complex)/.test(y.dtype)).map((y) =>
    tf.sum(tf.mul(tf.cast(/^complex/.test(y.dtype) ? partsSum(y) : y, "float32"), 0.5))
  );
}

/** True for inputs with respect to which programs are differentiated. */
export function isSource(x: { readonly dtype: string }): boolean {
  return x.dtype === "float32";
}

/** A function of a program's inputs that gives the gradients of its losses. */
export function gradientOf(body: Body): (...inputs: tf.Tensor[]) => (tf.Tensor | null)[] {
  return (...inputs) => {
    using tape = new tf.GradientTape();
    const sources = inputs.filter(isSource);
    tape.watch(sources);
    return tape.gradient(lossOf(body(...inputs)), sources) as (tf.Tensor | null)[];
  };
}
