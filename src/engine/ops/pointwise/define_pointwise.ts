/** definePointwise: defines an op by a scalar expression; both devices derive their kernels from it. */
import type { MeaningOf } from "../../core/meaning.ts";
import {
  defineOp,
  type GradContext,
  type GradRule,
  type OpDef,
  type OpInit,
} from "../../core/op.ts";
import { type PointwiseExpr, wantExpr } from "../../core/scalar/expr.ts";
import { broadcastShapes, type PartialShape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { pointwiseCpu } from "../../kernels/host/pointwise.ts";
import { boundExprs } from "../../kernels/pointwise/bound_exprs.ts";

/** Dtypes of functions on floats and complex numbers. */
export const FLOAT_OR_COMPLEX = "{bfloat16, half, float, double, complex64, complex128}";

/** The definition of a pointwise op. */
export interface PointwiseInit {
  /** Names of the inputs; default `["x"]`. A name may carry its dtype: `"condition: bool"`. */
  readonly inputs?: readonly string[];
  /** Output; default `"y: T"`, or `"z: T"` if an input is called `y`. */
  readonly output?: string;
  /** Allowed dtypes of `T`; default `floating`. */
  readonly types?: string;
  /** Further attributes. */
  readonly attrs?: readonly string[];
  /** Gradient; null for none. */
  readonly grad?: GradRule | null;
  /** Expansion into TensorFlow's ops, for an op that TensorFlow lacks. */
  readonly expand?: NonNullable<OpInit["expand"]>;
  /** The replacement in a portable GraphDef. Default: the parts of `expand`, or TensorFlow's op of the same name. */
  readonly portable?: NonNullable<OpInit["portable"]>;
}

/** Defines a pointwise op. `expr` takes one expression per input. */
export function definePointwise(
  name: string,
  expr: PointwiseExpr,
  init: PointwiseInit = {},
): OpDef {
  const inputs = (init.inputs ?? ["x"]).map((i) => (i.includes(":") ? i : `${i}: T`));
  const output = init.output ?? (inputs.includes("y: T") ? "z: T" : "y: T");
  const typed = [...inputs, output].some((i) => i.endsWith(": T"));
  return defineOp({
    name,
    inputs,
    outputs: [output],
    attrs: [...(typed ? [`T: ${init.types ?? "floating"}`] : []), ...(init.attrs ?? [])],
    infer: (specs) => [
      specs.map((s) => s.shape).reduce((a: PartialShape, b) => broadcastShapes(a, b), []),
    ],
    ...(init.grad === undefined ? {} : { grad: init.grad }),
    ...(init.portable && { portable: init.portable }),
    ...(init.expand === undefined ? {} : { expand: init.expand, portable: "parts" as const }),
    ...pointwiseKernels((args, attrs) => [wantExpr(expr(args, attrs), `the result of ${name}`)]),
  });
}

/** Returns the meaning and host kernel of an op whose outputs are expressions of its inputs. */
export function pointwiseKernels(
  exprs: MeaningOf<"pointwise">["exprs"],
): Required<Pick<OpDef, "meaning" | "cpu">> {
  const bind = boundExprs(exprs);
  return {
    meaning: { kind: "pointwise", exprs },
    cpu: (ins, outs, { attrs }) => pointwiseCpu(bind(attrs, ins.length), ins, outs),
  };
}

/** The values that a gradient rule reads. */
export type Saved = Readonly<Record<string, Tensor>>;

/** Makes the gradient rule of an op of one operand. */
export function unaryGrad(
  saves: readonly string[],
  dx: (saved: Saved, dy: Tensor, ctx: GradContext) => Tensor,
): GradRule {
  return { saves, vjp: (saved, [g], ctx) => [dx(saved, g, ctx)] };
}

/** Makes the gradient rule of a broadcasting op: the gradient of each operand, null for none. */
export function broadcastGrad(
  saves: readonly string[],
  ...flows: readonly (((saved: Saved, dy: Tensor, ctx: GradContext) => Tensor) | null)[]
): GradRule {
  return {
    saves,
    vjp: (saved, [g], ctx) =>
      flows.map((flow, i) => flow && ctx.needs[i] ? ctx.sumLike(flow(saved, g, ctx), i) : null),
  };
}
