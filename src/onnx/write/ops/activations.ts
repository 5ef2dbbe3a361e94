/** Activations, and other pointwise ops that ONNX has as one node. */
import type { NodeAttributes } from "../builder.ts";
import { inTheirLayout } from "../layout.ts";
import type { NodeWriter } from "../node_writer.ts";
import type { WriteRule, WriteRules } from "../rule.ts";
import type { Ref } from "../ref.ts";

/** Makes the rule of an op that is one node elementwise. */
function same(op: string, attributes: (n: NodeWriter) => NodeAttributes = () => ({})): WriteRule {
  return (n) => inTheirLayout(n, n.xs, (xs) => n.node(op, xs, attributes(n)));
}

function clip(n: NodeWriter, xs: readonly Ref[]): Ref {
  const [x, low, high] = xs;
  // ONNX's bounds are scalars.
  if (low.shape?.length === 0 && high.shape?.length === 0) return n.node("Clip", [x, low, high]);
  return n.node("Min", [n.node("Max", [x, low]), high]);
}

/** ONNX has it from version 20 on. */
function gelu(n: NodeWriter): Ref | null {
  if (n.target.opset < 20) return null;
  const approximate = n.attrs.approximate === true ? "tanh" : "none";
  return inTheirLayout(n, n.xs, (xs) => n.node("Gelu", xs, { approximate }));
}

export const ACTIVATIONS: WriteRules = {
  AddN: (n) => n.node("Sum", n.xs),
  ClipByValue: (n) => inTheirLayout(n, n.xs, (xs) => clip(n, xs)),
  Elu: same("Elu"),
  Gelu: gelu,
  LeakyRelu: same("LeakyRelu", (n) => ({ alpha: n.attrs.alpha as number })),
  Relu: same("Relu"),
  Relu6: (n) =>
    inTheirLayout(
      n,
      n.xs,
      ([x]) => n.node("Clip", [x, n.scalar(0, x.dtype), n.scalar(6, x.dtype)]),
    ),
  Selu: same("Selu"),
  Sigmoid: same("Sigmoid"),
  Softplus: same("Softplus"),
  Softsign: same("Softsign"),
  Square: (n) => inTheirLayout(n, n.xs, ([x]) => n.node("Mul", [x, x])),
};
