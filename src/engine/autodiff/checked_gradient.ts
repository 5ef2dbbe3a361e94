/**
 * Gradients that functions of users return, whose shapes are known only when they run: refused there where they are not those of the
 * inputs.
 */
import { apply1 } from "../core/apply.ts";
import { InvalidArgumentError } from "../core/errors.ts";
import { defineOp, type GradContext, type OpDef } from "../core/op.ts";
import { compatible, isConcrete, shapeText } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Spec } from "../core/tensor_spec.ts";
import { hostInts } from "../ops/array/view.ts";
import { toInput } from "../ops/input.ts";

/** What an error says before the spec of a gradient that was returned, and between that and the spec of the input. */
export type GradientTexts = readonly [received: string, wanted: string];

/** The text of the error for a gradient, which may be no tensor, of another spec than its input. */
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

/** A gradient as it is, if it has this shape. */
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
 * A gradient of an op's input. Where one of their shapes is not known yet, running it fails with `InvalidArgumentError` if they differ.
 * Throws nothing now: the caller has compared what is known.
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
