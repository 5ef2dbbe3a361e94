/**
 * Gradients of users' functions whose shapes are known only at run time: they fail there where the shapes differ from
 * those of the inputs.
 */
import { apply1 } from "../core/apply.ts";
import { InvalidArgumentError } from "../core/errors.ts";
import { defineOp, type GradContext, type OpDef } from "../core/op.ts";
import { compatible, isConcrete, shapeText } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Spec } from "../core/tensor_spec.ts";
import { hostInts, identity } from "../ops/array/view.ts";
import { toInput } from "../ops/input.ts";

/** Parts of an error's text before the spec of a returned gradient, and between that and the spec of the input. */
export type GradientTexts = readonly [received: string, wanted: string];

/** Makes the error text for a gradient, which may be no tensor, of another spec than its input. */
export function gradientRefusal(
  [received, wanted]: GradientTexts,
  gradient: Spec | string,
  { dtype, shape }: Spec,
): string {
  const given = typeof gradient === "string"
    ? gradient
    : `${gradient.dtype}${shapeText(gradient.shape)}`;
  return `${received}${given}${wanted}${dtype}${shapeText(shape)}`;
}

/**
 * Returns a gradient that a user's function returned, in the graph of `beside`, or eager as that is. Throws `TypeError` for a tensor
 * of another graph.
 */
export function gradientBeside(gradient: Tensor, beside: Tensor): Tensor {
  const isThere = gradient.isSymbolic === beside.isSymbolic &&
    (!beside.isSymbolic || gradient.graph === beside.graph);
  return isThere ? gradient : identity(gradient);
}

/** Passes a gradient through if it has this shape. */
const CheckedGradient: OpDef = defineOp({
  name: "_CheckedGradient",
  portable: "parts",
  inputs: ["gradient: T", "shape: int32"],
  outputs: ["output: T"],
  attrs: ["T: type", "texts: list(string)"],
  hostInputs: ["shape"],
  meaning: { kind: "view" },
  infer: ([gradient, { value }], { texts }) => {
    if (value === undefined) return [gradient.shape];
    const shape = hostInts(value);
    if (compatible(gradient.shape, shape)) return [shape];
    const { dtype } = gradient;
    throw new InvalidArgumentError(gradientRefusal(texts, gradient, { dtype, shape }));
  },
  grad: { saves: [], vjp: (_, [dy]) => [dy, null] },
});

/**
 * Returns the gradient of an op's input. Where one of their shapes is unknown, running it fails with
 * `InvalidArgumentError` if they differ. The caller has compared the known shapes.
 */
export function checkedGradient(
  gradient: Tensor,
  { ctx, input, texts }: {
    readonly ctx: GradContext;
    readonly input: number;
    readonly texts: GradientTexts;
  },
): Tensor {
  if (isConcrete(ctx.inputs[input].shape) && isConcrete(gradient.staticShape)) return gradient;
  const shape = toInput(ctx.shapeOf(input), "shape", CheckedGradient.name);
  return apply1(CheckedGradient, [gradient, shape], { texts });
}
