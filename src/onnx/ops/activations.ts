/** Activations of neural networks. */
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry } from "../build/rule.ts";
import { like, unary } from "./raw.ts";
import * as tf from "../build/tf.ts";

const SELU_ALPHA = 1.67326319217681884765625, SELU_GAMMA = 1.05070102214813232421875;

function elu(x: Tensor, alpha: number): Tensor {
  if (alpha === 1) return tf.elu(x);
  return tf.where(tf.less(x, like(x, 0)), tf.mul(tf.expm1(x), like(x, alpha)), x);
}

function selu(n: NodeCall): Tensor {
  const { attributes } = n, x = n.x(0);
  const alpha = attributes.float("alpha", SELU_ALPHA),
    gamma = attributes.float("gamma", SELU_GAMMA);
  const isOurs = Math.abs(alpha - SELU_ALPHA) < 1e-6 && Math.abs(gamma - SELU_GAMMA) < 1e-6;
  return isOurs ? tf.selu(x) : tf.mul(elu(x, alpha), like(x, gamma));
}

function celu(n: NodeCall): Tensor {
  const x = n.x(0), alpha = n.attributes.float("alpha", 1);
  const below = tf.mul(tf.expm1(tf.div(tf.minimum(x, like(x, 0)), like(x, alpha))), like(x, alpha));
  return tf.add(tf.relu(x), below);
}

function hardSigmoid(n: NodeCall): Tensor {
  const x = n.x(0), { attributes } = n;
  const line = tf.add(
    tf.mul(x, like(x, attributes.float("alpha", 0.2))),
    like(x, attributes.float("beta", 0.5)),
  );
  return tf.minimum(tf.relu(line), like(x, 1));
}

function hardSwish(x: Tensor): Tensor {
  const line = tf.add(tf.mul(x, like(x, 1 / 6)), like(x, 0.5));
  return tf.mul(x, tf.minimum(tf.relu(line), like(x, 1)));
}

function prelu(n: NodeCall): Tensor {
  const x = n.x(0), slope = n.x(1);
  // Before version 7 a slope of one axis is per channel.
  const rank = n.rank(0),
    wide = n.version < 7 && n.rank(1) === 1 && rank > 2
      ? tf.reshape(slope, [-1, ...new Array<number>(rank - 2).fill(1)])
      : slope;
  return tf.where(tf.less(x, like(x, 0)), tf.mul(x, wide), x);
}

function shrink(n: NodeCall): Tensor {
  const x = n.x(0), { attributes } = n;
  const limit = like(x, attributes.float("lambd", 0.5)),
    bias = like(x, attributes.float("bias", 0));
  const zero = tf.zerosLike(x);
  return tf.where(
    tf.less(x, tf.neg(limit)),
    tf.add(x, bias),
    tf.where(tf.greater(x, limit), tf.sub(x, bias), zero),
  );
}

function thresholdedRelu(n: NodeCall): Tensor {
  const x = n.x(0), limit = like(x, n.attributes.float("alpha", 1));
  return tf.where(tf.greater(x, limit), x, tf.zerosLike(x));
}

function swish(n: NodeCall): Tensor {
  const x = n.x(0), alpha = n.attributes.float("alpha", 1);
  return tf.mul(x, tf.sigmoid(alpha === 1 ? x : tf.mul(x, like(x, alpha))));
}

/** Returns the gated half of a linear layer's output: `swish(a) * b` of the two halves along an axis. */
function swiGlu(n: NodeCall): Tensor {
  const x = n.x(0), { attributes } = n, alpha = attributes.float("alpha", 1);
  const [a, b] = n.has(1) ? [x, n.x(1)] : tf.split(x, 2, attributes.int("axis", -1));
  return tf.mul(tf.mul(a, tf.sigmoid(alpha === 1 ? a : tf.mul(a, like(a, alpha)))), b);
}

function gelu(n: NodeCall): Tensor {
  return tf.gelu(n.x(0), n.attributes.text("approximate", "none") === "tanh");
}

const ENTRIES: readonly OpEntry[] = [
  op("Celu", 12, celu),
  op("Elu", 1, (n) => elu(n.x(0), n.attributes.float("alpha", 1))),
  op("Gelu", 20, gelu),
  op("HardSigmoid", 1, hardSigmoid),
  op("HardSwish", 14, unary(hardSwish)),
  op("LeakyRelu", 1, (n) => tf.leakyRelu(n.x(0), n.attributes.float("alpha", 0.01))),
  op("Mish", 18, unary((x) => tf.mul(x, tf.tanh(tf.softplus(x))))),
  op("PRelu", 1, prelu),
  op("Relu", 1, unary(tf.relu)),
  op("Selu", 1, selu),
  op("Shrink", 9, shrink),
  op("Sigmoid", 1, unary(tf.sigmoid)),
  op("Softplus", 1, unary(tf.softplus)),
  op("Softsign", 1, unary(tf.softsign)),
  op("Swish", 24, swish),
  op("ThresholdedRelu", 10, thresholdedRelu),
];

export const ACTIVATIONS: readonly OpEntry[] = [
  ...ENTRIES.map((entry) => ({ ...entry, pointwise: true, halves: "computed" as const })),
  op("SwiGLU", 28, swiGlu, { halves: "computed" }),
];
