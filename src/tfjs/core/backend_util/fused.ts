/** Activations of fused ops, and their gradients. */
import * as tf from "../../../../mod.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import { getReductionAxes } from "./broadcast.ts";
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

/** Name of an activation. */
export type Activation = "linear" | "relu" | "prelu" | "elu" | "relu6" | "leakyrelu" | "sigmoid";

/** Applies an activation by its name. Throws for an unknown one. */
export function applyActivation(
  x: Tensor,
  activation: Activation,
  preluActivationWeights?: Tensor,
  leakyreluAlpha?: number,
): Tensor {
  switch (activation) {
    case "linear":
      return x;
    case "relu":
      return tf.relu(x);
    case "elu":
      return tf.elu(x);
    case "relu6":
      return tf.relu6(x);
    case "prelu":
      return tf.prelu(x, preluActivationWeights!);
    case "leakyrelu":
      return tf.leakyRelu(x, leakyreluAlpha);
    case "sigmoid":
      return tf.sigmoid(x);
  }
  throw new Error(`Unknown fused activation ${activation}`);
}
/** Returns the gradient before an activation. Throws for one without a gradient here. */
export function getFusedDyActivation(dy: Tensor, y: Tensor, activation?: Activation): Tensor {
  if (activation === undefined || activation === null || activation === "linear") return dy;
  if (activation === "relu") return tf.mul(dy, tf.step(y));
  throw new Error(`Cannot differentiate the fused activation ${activation}`);
}
/** Returns the gradient of a bias. */
export function getFusedBiasGradient(bias: Tensor, dyActivation: Tensor): Tensor {
  const axes = getReductionAxes(bias.shape, dyActivation.shape);
  const summed = axes.length > 0 ? tf.sum(dyActivation, axes) : dyActivation;
  return tf.reshape(summed, bias.shape);
}
/** True where an op and its activation are computed as one. */
export function shouldFuse(gradientDepth: number, activation: Activation): boolean {
  return gradientDepth <= 0 || activation === "linear";
}
