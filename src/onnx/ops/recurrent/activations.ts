/** Activations of recurrent networks, by the names of a node's attributes. */
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { like } from "../raw.ts";
import * as tf from "../../build/tf.ts";

/** A function with defaults for its alpha and beta, where it takes them. */
interface Activation {
  readonly apply: (x: Tensor, alpha: number, beta: number) => Tensor;
  readonly alpha?: number;
  readonly beta?: number;
}

const line = (x: Tensor, alpha: number, beta: number): Tensor =>
  tf.add(tf.mul(x, like(x, alpha)), like(x, beta));

const ACTIVATIONS: Readonly<Record<string, Activation>> = {
  affine: { apply: line, alpha: 1, beta: 0 },
  elu: {
    apply: (x, alpha) =>
      tf.where(
        tf.less(x, like(x, 0)),
        tf.mul(tf.expm1(tf.minimum(x, like(x, 0))), like(x, alpha)),
        x,
      ),
    alpha: 1,
  },
  hardsigmoid: {
    apply: (x, alpha, beta) => tf.clipByValue(line(x, alpha, beta), 0, 1),
    alpha: 0.2,
    beta: 0.5,
  },
  leakyrelu: { apply: (x, alpha) => tf.leakyRelu(x, alpha), alpha: 0.01 },
  relu: { apply: (x) => tf.relu(x) },
  scaledtanh: {
    apply: (x, alpha, beta) => tf.mul(tf.tanh(tf.mul(x, like(x, beta))), like(x, alpha)),
    alpha: 1,
    beta: 1,
  },
  sigmoid: { apply: (x) => tf.sigmoid(x) },
  softplus: { apply: (x) => tf.softplus(x) },
  softsign: { apply: (x) => tf.div(x, tf.add(tf.abs(x), like(x, 1))) },
  tanh: { apply: (x) => tf.tanh(x) },
  thresholdedrelu: {
    apply: (x, alpha) => tf.where(tf.greater(x, like(x, alpha)), x, tf.zerosLike(x)),
    alpha: 1,
  },
};

/**
 * Returns the activations of a node's direction. The lists of alphas and betas have entries for those alone that take
 * one.
 */
export function recurrentActivations(
  n: NodeCall,
  direction: number,
  defaults: readonly string[],
): ((x: Tensor) => Tensor)[] {
  const given = n.attributes.texts("activations") ?? [];
  const names = given.length > 0 ? given : [...defaults, ...defaults];
  const alphas = [...n.attributes.floats("activation_alpha") ?? []];
  const betas = [...n.attributes.floats("activation_beta") ?? []];
  const all = names.map((name) => {
    const key = name.toLowerCase();
    if (!Object.hasOwn(ACTIVATIONS, key)) n.lacks(`the activation ${name}`);
    const { apply, alpha, beta } = ACTIVATIONS[key];
    const a = alpha === undefined ? 0 : alphas.shift() ?? alpha;
    const b = beta === undefined ? 0 : betas.shift() ?? beta;
    return (x: Tensor) => apply(x, a, b);
  });
  const count = defaults.length, own = all.slice(direction * count, (direction + 1) * count);
  return own.length === count ? own : n.fail(`it has ${names.length} activations`);
}
