/**
 * Bias and activation after the product in `_FusedMatMul`, `_FusedConv2D` and the like. One definition for all of them.
 */
import { apply, apply1, type OpInput } from "../../core/apply.ts";
import {
  type Attrs,
  defineOp,
  type GradContext,
  lookupOp,
  type OpDef,
  type Problem,
} from "../../core/op.ts";
import { argument, type Expr, scalar as s } from "../../core/scalar/expr.ts";
import type { DType } from "../../core/dtype.ts";
import type { OptionKeys } from "../../core/arguments.ts";
import { isConcrete, type Shape, sizeOf } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { InternalError, UnimplementedError, ValueError } from "../../core/errors.ts";
import { type EpilogueOperand, withFusion } from "../../core/fusion.ts";
import type { MeaningOf } from "../../core/meaning.ts";
import { asTensor, castInput, shapeOfInput, toInput } from "../input.ts";
import { add, mul } from "../pointwise/arithmetic.ts";
import { less } from "../pointwise/compare.ts";
import { where } from "../pointwise/select.ts";

/** The user's names of activations. */
export type Activation = "linear" | "relu" | "relu6" | "elu" | "prelu" | "leakyrelu" | "sigmoid";

const NAMES: Readonly<Record<Activation, string | null>> = {
  linear: null,
  relu: "Relu",
  relu6: "Relu6",
  elu: "Elu",
  prelu: "Prelu",
  leakyrelu: "LeakyRelu",
  sigmoid: "Sigmoid",
};

/** TensorFlow's names of activations. */
const ACTIVATIONS: readonly string[] = [...Object.values(NAMES).filter((n) => n !== null), "Tanh"];

interface Steps {
  readonly bias: boolean;
  readonly activation: string | null;
}

/** Reads `fused_ops`. Throws `UnimplementedError` for unknown steps. */
function stepsOf({ fused_ops }: Attrs): Steps {
  const list = [...fused_ops as readonly string[]];
  const bias = list[0] === "BiasAdd";
  if (bias) list.shift();
  const activation = list.shift() ?? null;
  if (list.length > 0 || (activation !== null && !ACTIVATIONS.includes(activation))) {
    throw new UnimplementedError(
      `Fusion is not implemented: [${fused_ops}]; wanted BiasAdd, then one of ${
        ACTIVATIONS.join(", ")
      }`,
    );
  }
  return { bias, activation };
}

function operandCount({ bias, activation }: Steps): number {
  return (bias ? 1 : 0) + (activation === "Prelu" ? 1 : 0);
}

function activationAttrs(activation: string, attrs: Attrs): Attrs {
  return activation === "LeakyRelu" ? { alpha: attrs.leakyrelu_alpha } : {};
}

/** Returns the steps as an expression over the sum and the further operands. */
function expression(attrs: Attrs): Expr {
  const { bias, activation } = stepsOf(attrs);
  const x = bias ? s.add(argument(0), argument(1)) : argument(0);
  if (activation === null) return x;
  const args = activation === "Prelu" ? [x, argument(bias ? 2 : 1)] : [x];
  const meaning = lookupOp(activation)?.meaning;
  if (meaning?.kind !== "pointwise") {
    throw new InternalError(`Cannot fuse ${activation}: it is no pointwise op`);
  }
  return meaning.exprs(args, activationAttrs(activation, attrs))[0];
}

/** Returns the broadcasting of an operand to a result of this shape, or null if no kernel supports it. */
function meeting(operand: Shape, out: Shape): EpilogueOperand["per"] | null {
  const size = sizeOf(operand), last = out[out.length - 1];
  if (size === 1) return "all";
  if (size === last && operand[operand.length - 1] === last) return "column";
  return operand.length === out.length && operand.every((d, i) => d === out[i]) ? "element" : null;
}

/** Returns the product's problem with the epilogue of the attributes; null if no kernel supports it. */
function asFused(problem: Problem): Problem | null {
  const { inputs, outputs: [out], attrs } = problem;
  const operands: EpilogueOperand[] = [];
  for (let i = 2; i < inputs.length; i++) {
    const per = meeting(inputs[i].shape, out.shape);
    if (per === null) return null;
    operands.push({ dtype: inputs[i].dtype, buffer: { input: i }, per });
  }
  const epilogue = { expr: expression(attrs), operands };
  return {
    ...problem,
    attrs: withFusion(attrs, { own: 2, prologue: null, epilogue, dtype: out.dtype }),
  };
}

/** The definition of a fused op. */
export interface FusedInit {
  readonly name: string;
  /** The op of the product; its inputs and attributes are the fused op's first ones. */
  readonly base: OpDef;
  /** Attributes of the base op. */
  readonly attrs: readonly string[];
  /** Returns the attributes of the base op. */
  readonly baseAttrs: (attrs: Attrs) => Attrs;
}

/**
 * Defines an op that adds bias and activation to another. On the host it runs as its parts, which have fast kernels.
 */
export function defineFused(init: FusedInit): OpDef {
  const { name, base } = init;
  const [first, second] = base.signature.inputArgs.map((a) => a.name),
    result = base.signature.outputArgs[0].name;
  const product = (inputs: readonly Tensor[], attrs: Attrs): Tensor =>
    apply1(base, inputs.slice(0, 2), init.baseAttrs(attrs));
  return defineOp({
    name,
    inputs: [`${first}: T`, `${second}: T`, "args: num_args * T"],
    outputs: [`${result}: T`],
    attrs: [
      ...init.attrs,
      "num_args: int >= 0",
      "fused_ops: list(string) = []",
      "epsilon: float = 0.0001",
      "leakyrelu_alpha: float = 0.2",
    ],
    meaning: { ...base.meaning as MeaningOf<"product" | "convolution">, fuses: false, asFused },
    // TensorFlow reserves its ops of these names.
    portable: "parts",
    infer: (inputs, attrs) => {
      const want = operandCount(stepsOf(attrs));
      if (inputs.length - 2 !== want) {
        throw new ValueError(
          `${name} with fused_ops [${attrs.fused_ops}] must have ${want} extra arguments, received ${
            inputs.length - 2
          }`,
        );
      }
      return base.infer(inputs.slice(0, 2), attrs);
    },
    expand: (inputs, attrs) => {
      const { bias, activation } = stepsOf(attrs);
      const z = product(inputs.map(asTensor), attrs);
      const x = bias ? add(z, inputs[2]) : z;
      if (activation === null) return [x];
      const rest = activation === "Prelu" ? [inputs[inputs.length - 1]] : [];
      return apply(lookupOp(activation)!, [x, ...rest], activationAttrs(activation, attrs));
    },
    grad: {
      saves: [first, second, "args", result],
      vjp: (saved, [dy], ctx) => {
        const { bias, activation } = stepsOf(ctx.attrs);
        const args = ctx.inputs.slice(2).map((_, i) => asTensor(saved[`args:${i}`]));
        const sum = (): Tensor => {
          const z = product([saved[first], saved[second]], ctx.attrs);
          return bias ? add(z, args[0]) : z;
        };
        const [dx, dalpha] = activationGradient(activation, ctx, dy, saved[result], sum, args);
        const rest = ctx.inputs.slice(2).map((_, i) => {
          if (!ctx.needs[2 + i]) return null;
          return ctx.sumLike(bias && i === 0 ? dx : dalpha!, 2 + i);
        });
        const inner: GradContext = {
          ...ctx,
          attrs: { ...ctx.attrs, ...init.baseAttrs(ctx.attrs) },
          inputs: ctx.inputs.slice(0, 2),
          needs: ctx.needs.slice(0, 2),
        };
        return [...base.grad!.vjp(saved, [dx], inner), ...rest];
      },
    },
  });
}

/** Returns the gradients of the activated value and of Prelu's slopes; most follow from the result alone. */
function activationGradient(
  activation: string | null,
  { attrs }: GradContext,
  dy: Tensor,
  y: Tensor,
  sum: () => Tensor,
  args: readonly Tensor[],
): [Tensor, Tensor | null] {
  switch (activation) {
    case null:
      return [dy, null];
    case "Sigmoid":
    case "Tanh":
      return [apply1(lookupOp(`${activation}Grad`)!, [y, dy]), null];
    case "LeakyRelu":
      if (attrs.leakyrelu_alpha >= 0) {
        return [
          apply1(lookupOp("LeakyReluGrad")!, [dy, y], { alpha: attrs.leakyrelu_alpha }),
          null,
        ];
      }
      return [where(less(sum(), 0), mul(dy, attrs.leakyrelu_alpha), dy), null];
    case "Prelu": {
      const x = sum(), alpha = args[args.length - 1], negative = less(x, 0);
      return [where(negative, mul(dy, alpha), dy), where(negative, mul(dy, x), 0)];
    }
  }
  return [apply1(lookupOp(`${activation}Grad`)!, [dy, y]), null];
}

/** Bias and activation after a product, as options of a user. */
export interface FusedSteps {
  /** Added to the product: broadcasts to it; for a convolution it is one number per output channel, or one. */
  readonly bias?: TensorLike | null;
  /** Applied last. */
  readonly activation?: Activation;
  /** Slopes of `prelu`. */
  readonly preluActivationWeights?: TensorLike | null;
  /** Slope of `leakyrelu`. Default 0.2. */
  readonly leakyreluAlpha?: number;
}

export const STEP_KEYS: OptionKeys<FusedSteps> = {
  bias: true,
  activation: true,
  preluActivationWeights: true,
  leakyreluAlpha: true,
};

/** The same as inputs: bias and slopes if given, and TensorFlow's name of the activation. */
export interface StepInputs {
  readonly bias: OpInput | null;
  readonly activation: string | null;
  readonly alpha: OpInput | null;
  readonly leakyreluAlpha: number;
}

/**
 * Reads the steps after a product of this dtype. Throws `ValueError` for an unknown activation and `prelu` without
 * slopes.
 */
export function stepInputs(options: FusedSteps, dtype: DType, fn: string): StepInputs {
  const { leakyreluAlpha = 0.2, preluActivationWeights: slopes } = options;
  // Layers of TensorFlow.js hand over null for an activation that is not fused.
  const activation = options.activation ?? "linear";
  const op = NAMES[activation];
  if (op === undefined) {
    throw new ValueError(
      `Unknown fused activation ${activation}, wanted one of ${Object.keys(NAMES).join(", ")}`,
    );
  }
  if (op === "Prelu" && slopes == null) {
    throw new ValueError("Cannot apply prelu: preluActivationWeights are missing");
  }
  const read = (x: TensorLike | null | undefined, name: string): OpInput | null =>
    x == null ? null : castInput(toInput(x, name, fn), dtype);
  return {
    bias: read(options.bias, "bias"),
    activation: op,
    alpha: op === "Prelu" ? read(slopes, "preluActivationWeights") : null,
    leakyreluAlpha,
  };
}

/** Applies the steps after a product as separate ops. */
export function applySteps(
  x: Tensor,
  { bias, activation, alpha, leakyreluAlpha }: StepInputs,
): Tensor {
  const z = bias === null ? x : add(x, asTensor(bias));
  if (activation === null) return z;
  const attrs = activationAttrs(activation, { leakyrelu_alpha: leakyreluAlpha });
  return apply1(lookupOp(activation)!, alpha === null ? [z] : [z, alpha], attrs);
}

/** Applies the product of two operands and its steps as one op. */
export function applyFused(
  fused: OpDef,
  operands: readonly OpInput[],
  attrs: Attrs,
  { bias, activation, alpha, leakyreluAlpha }: StepInputs,
): Tensor {
  const args = [bias, alpha].filter((x) => x !== null);
  return apply1(fused, [...operands, ...args], {
    ...attrs,
    fused_ops: [
      ...(bias === null ? [] : ["BiasAdd"]),
      ...(activation === null ? [] : [activation]),
    ],
    leakyrelu_alpha: leakyreluAlpha,
    num_args: args.length,
  });
}

/** True where there are steps, and bias and slopes have shapes that a fused op supports. */
export function isFusable(
  { bias, activation, alpha }: StepInputs,
  columns: number | null,
): boolean {
  return (bias !== null || activation !== null) && [bias, alpha].every((x) => {
    if (x === null) return true;
    const shape = shapeOfInput(x);
    if (!isConcrete(shape) || columns === null) return false;
    const size = sizeOf(shape);
    return size === 1 || (size === columns && shape[shape.length - 1] === columns);
  });
}
