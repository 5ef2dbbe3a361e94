/**
 * definePointwise: an op from one scalar expression; kernels for both devices follow.
 */
import {
  defineOp,
  type GradContext,
  type GradRule,
  type OpDef,
  type OpInit,
} from "../../core/op.ts";
import { argument, type Expr, type PointwiseExpr } from "../../core/scalar/expr.ts";
import { broadcastShapes, type PartialShape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { pointwiseCpu } from "../../kernels/host/pointwise.ts";
import { onGpu } from "../../kernels/gpu_kernels.ts";

/** Dtypes of functions that are defined for floats and complex numbers. */
export const FLOAT_OR_COMPLEX = "{bfloat16, half, float, double, complex64, complex128}";

/** What a pointwise op is made of. */
export interface PointwiseInit {
  /** Names of the inputs; default `["x"]`. A name may carry its dtype: `"condition: bool"`. */
  readonly inputs?: readonly string[];
  /** Output; default `"y: T"`, or `"z: T"` where an input is called `y`. */
  readonly output?: string;
  /** Dtypes that `T` may be; default `floating`. */
  readonly types?: string;
  /** Further attributes. */
  readonly attrs?: readonly string[];
  /** Gradient; null for none. */
  readonly grad?: GradRule | null;
  /** The meaning in TensorFlow's ops, for an op that TensorFlow lacks. */
  readonly expand?: NonNullable<OpInit["expand"]>;
}

/** Defines a pointwise op. `expr` gets one expression per input. */
export function definePointwise(
  name: string,
  expr: PointwiseExpr,
  init: PointwiseInit = {},
): OpDef {
  const inputs = (init.inputs ?? ["x"]).map((i) => (i.includes(":") ? i : `${i}: T`));
  const output = init.output ?? (inputs.includes("y: T") ? "z: T" : "y: T");
  const args = inputs.map((_, i) => argument(i));
  const typed = [...inputs, output].some((i) => i.endsWith(": T"));
  // Made once per attribute values: kernels are keyed by the expression.
  const made = new WeakMap<object, Expr>();
  const bind = (attrs: Readonly<Record<string, unknown>>): Expr => {
    let e = made.get(attrs);
    if (!e) made.set(attrs, e = expr(args, attrs));
    return e;
  };
  // No complex number is ever on a GPU.
  const isComplex = init.types === "complex" || init.attrs?.some((a) => a.includes("complex"));
  return defineOp({
    name,
    inputs,
    outputs: [output],
    attrs: [...(typed ? [`T: ${init.types ?? "floating"}`] : []), ...(init.attrs ?? [])],
    infer: (specs) => [
      specs.map((s) => s.shape).reduce((a: PartialShape, b) => broadcastShapes(a, b), []),
    ],
    kind: "pointwise",
    pointwise: expr,
    ...(init.grad === undefined ? {} : { grad: init.grad }),
    ...(init.expand === undefined ? {} : { expand: init.expand, portable: "parts" as const }),
    cpu: (ins, outs, { attrs }) => pointwiseCpu([bind(attrs)], ins, outs),
    gpu: isComplex ? [] : onGpu(({ pointwiseFits, pointwiseGpu }) => [{
      name: "pointwise",
      fits: ({ inputs, attrs }, profile) => pointwiseFits([bind(attrs)], inputs, profile),
      plan: ({ inputs, outputs, attrs }, profile) =>
        pointwiseGpu([bind(attrs)], inputs, outputs[0], profile),
    }]),
  });
}

/** What a gradient rule reads. */
export type Saved = Readonly<Record<string, Tensor>>;

/** A gradient rule of an op of one operand. */
export function unaryGrad(
  saves: readonly string[],
  dx: (saved: Saved, dy: Tensor, ctx: GradContext) => Tensor,
): GradRule {
  return { saves, vjp: (saved, [g], ctx) => [dx(saved, g, ctx)] };
}

/** A gradient rule of a broadcasting op of two operands; null where none flows. */
export function binaryGrad(
  saves: readonly string[],
  dx: ((saved: Saved, dz: Tensor, ctx: GradContext) => Tensor) | null,
  dy: ((saved: Saved, dz: Tensor, ctx: GradContext) => Tensor) | null,
): GradRule {
  return {
    saves,
    vjp: (saved, [g], ctx) => [
      dx && ctx.needs[0] ? ctx.sumLike(dx(saved, g, ctx), 0) : null,
      dy && ctx.needs[1] ? ctx.sumLike(dy(saved, g, ctx), 1) : null,
    ],
  };
}
