/** Products and activations that onnxruntime fuses: FusedMatMul, FusedGemm, FusedConv, the kinds of Gelu. */
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry, type RuleOutput } from "../build/rule.ts";
import { Value } from "../build/value.ts";
import { convolve, filterOf } from "./convolutions.ts";
import { like } from "./raw.ts";
import { slidingOf } from "./window_shape.ts";
import * as tf from "../build/tf.ts";

/** Applies the activation that a node names, with its parameters. */
function activated(n: NodeCall, x: Tensor, params: readonly (number | undefined)[]): Tensor {
  const [a, b] = params, name = n.attributes.text("activation", "");
  switch (name) {
    case "":
      return x;
    case "Relu":
      return tf.relu(x);
    case "LeakyRelu":
      return tf.leakyRelu(x, a ?? 0.01);
    case "Elu":
      return tf.where(tf.less(x, like(x, 0)), tf.mul(tf.expm1(x), like(x, a ?? 1)), x);
    case "Sigmoid":
      return tf.sigmoid(x);
    case "Softplus":
      return tf.softplus(x);
    case "Softsign":
      return tf.softsign(x);
    case "Tanh":
      return tf.tanh(x);
    case "Clip":
      return tf.minimum(tf.maximum(x, like(x, a ?? -Infinity)), like(x, b ?? Infinity));
    case "HardSigmoid": {
      const line = tf.add(tf.mul(x, like(x, a ?? 0.2)), like(x, b ?? 0.5));
      return tf.minimum(tf.relu(line), like(x, 1));
    }
    default:
      return n.lacks(`the activation "${name}"`);
  }
}

function scaled(x: Tensor, by: number): Tensor {
  return by === 1 ? x : tf.mul(x, like(x, by));
}

/** Moves the first axis of an input to the place before the last, where the attribute says so. */
function operand(n: NodeCall, i: number, name: string): Tensor {
  const rank = n.rank(i);
  if (rank < 3 || !n.attributes.flag(name)) return n.x(i);
  const between = Array.from({ length: rank - 2 }, (_, k) => k + 1);
  return tf.transpose(n.x(i), [...between, 0, rank - 1]);
}

function fusedMatMul(n: NodeCall): Tensor {
  const { attributes } = n;
  const a = operand(n, 0, "transBatchA"), b = operand(n, 1, "transBatchB");
  const product = tf.matMul(a, b, attributes.flag("transA"), attributes.flag("transB"));
  return scaled(product, attributes.float("alpha", 1));
}

function fusedGemm(n: NodeCall): Tensor {
  const { attributes } = n;
  const product = tf.matMul(n.x(0), n.x(1), attributes.flag("transA"), attributes.flag("transB"));
  let y = scaled(product, attributes.float("alpha", 1));
  if (n.has(2)) y = tf.add(y, scaled(n.x(2), attributes.float("beta", 1)));
  const params = ["activation_alpha", "activation_beta"].map((name) =>
    attributes.has(name) ? attributes.float(name, 0) : undefined
  );
  return activated(n, y, params);
}

/** Convolves, adds an image and activates the sum. */
export function fusedConv(n: NodeCall): RuleOutput {
  const { attributes } = n;
  const sliding = slidingOf(n, attributes.ints("kernel_shape") ?? n.concrete(1).slice(2));
  let y = convolve(n.last(0), filterOf(n, 1), sliding, attributes.int("group", 1));
  if (n.has(2)) y = tf.add(y, n.x(2));
  if (n.has(3)) y = tf.add(y, n.last(3));
  return Value.channelsLast(activated(n, y, attributes.floats("activation_params") ?? []));
}

function biased(n: NodeCall): Tensor {
  return n.has(1) ? tf.add(n.x(0), n.x(1)) : n.x(0);
}

function quickGelu(n: NodeCall): Tensor {
  const x = n.x(0);
  return tf.mul(x, tf.sigmoid(scaled(x, n.attributes.float("alpha", 1.702))));
}

const MICROSOFT = { domain: "com.microsoft" };

/** Fused products and activations. */
export const FUSED_PRODUCTS: readonly OpEntry[] = [
  op("BiasGelu", 1, (n) => tf.gelu(biased(n)), { ...MICROSOFT, halves: "computed" }),
  op("FastGelu", 1, (n) => tf.gelu(biased(n), true), { ...MICROSOFT, halves: "computed" }),
  op("FusedConv", 1, fusedConv, { ...MICROSOFT, halves: "computed" }),
  op("FusedGemm", 1, fusedGemm, { ...MICROSOFT, halves: "multiplied" }),
  op("FusedMatMul", 1, fusedMatMul, { ...MICROSOFT, halves: "multiplied" }),
  op("Gelu", 1, (n) => tf.gelu(n.x(0)), { ...MICROSOFT, halves: "computed" }),
  op("QuickGelu", 1, quickGelu, { ...MICROSOFT, halves: "computed" }),
  op("TransposeMatMul", 1, fusedMatMul, { ...MICROSOFT, halves: "multiplied" }),
];
