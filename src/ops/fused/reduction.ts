/**
 * Reductions of what is computed on the way, whose results may go through a further expression. Plans put them in place of up to
 * three ops; users do not see them. The op of `Sum` is `_FusedSum`, and so on.
 */
import { apply1, type OpInput } from "../../core/apply.ts";
import type { DType } from "../../core/dtype.ts";
import { type Attrs, defineOp, type OpDef, type Problem } from "../../core/op.ts";
import { type Expr, exprType } from "../../core/scalar/expr.ts";
import { broadcastShapes, type PartialShape, type Shape, sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Epilogue, EpilogueOperand } from "../../kernels/matmul/epilogue.ts";
import { setMeaning } from "../../kernels/host/meaning.ts";
import type { ReduceOp } from "../../kernels/host/reduce.ts";
import { onGpu } from "../../kernels/gpu_kernels.ts";
import type { ReduceTask } from "../../kernels/reduce/task.ts";
import { FusedPointwise } from "./fused.ts";
import { All, Any, Max, Mean, Min, Prod, reducedShape, Sum } from "../reduce/reduce.ts";

/** Operands begin after the axes. */
const FIRST = 1;

function commonShape(shapes: readonly PartialShape[]): PartialShape {
  return shapes.reduce((a: PartialShape, b) => broadcastShapes(a, b), []);
}

/** What to do to each result; null for nothing, undefined where an operand has not as many elements as there are results. */
function epilogueOf({ inputs, outputs: [out], attrs }: Problem): Epilogue | null | undefined {
  const expr = attrs.finish as Expr;
  if (expr.op === "arg") return null;
  const first = FIRST + attrs.Toperand.length, size = sizeOf(out.shape);
  const operands = inputs.slice(first).map(({ dtype, shape }, i): EpilogueOperand => ({
    dtype,
    buffer: { input: first + i },
    per: sizeOf(shape) === 1 ? "all" : "element",
  }));
  const fit = operands.every(({ per }, i) =>
    per === "all" || sizeOf(inputs[first + i].shape) === size
  );
  return fit ? { expr, operands } : undefined;
}

function taskOf(op: ReduceOp): (problem: Problem) => ReduceTask | null {
  return (problem) => {
    const { inputs, hosts, outputs: [out], attrs } = problem;
    const operands = inputs.slice(FIRST, FIRST + attrs.Toperand.length);
    const epilogue = epilogueOf(problem);
    if (epilogue === undefined) return null;
    const shape = commonShape(operands.map((o) => o.shape)) as Shape;
    return {
      op,
      shape,
      dtype: exprType(attrs.expr, operands.map((o) => o.dtype)),
      axes: hosts[0]!,
      out,
      prologue: {
        expr: attrs.expr,
        operands,
        buffers: operands.map((_, i) => ({ input: FIRST + i })),
        shape,
      },
      epilogue,
    };
  };
}

function pointwise(inputs: readonly Tensor[], expr: Expr): Tensor {
  const Tin = inputs.map((t): DType => t.dtype);
  return apply1(FusedPointwise, inputs, { Tin, Tout: [exprType(expr, Tin)], exprs: [expr] });
}

/** Defines the reduction `expr` of operands, broadcast; `finish` is over a result and operands like it, or of one element. */
function defineFusedReduction(base: OpDef, op: ReduceOp): OpDef {
  const name = `_Fused${base.name}`, task = taskOf(op);
  setMeaning(name, { reduction: task });
  return defineOp({
    name,
    inputs: ["reduction_indices: Tidx", "operand: Toperand", "further: Tfurther"],
    outputs: ["output: T"],
    attrs: [
      "keep_dims: bool = false",
      "T: type",
      "Tidx: index = int32",
      "Toperand: list(type)",
      "Tfurther: list(type)",
      "expr: expr",
      "finish: expr",
    ],
    hostInputs: ["reduction_indices"],
    infer: ([axes, ...rest], { keep_dims, Toperand }) => {
      const shape = commonShape(rest.slice(0, Toperand.length).map((s) => s.shape));
      return [reducedShape(shape, axes.value, keep_dims)];
    },
    grad: null,
    portable: { never: "only plans make it" },
    gpu: onGpu(({ reduceVariants }) => reduceVariants(task)),
    expand: ([axes, ...rest], { keep_dims, Toperand, expr, finish }: Attrs) => {
      const x = pointwise(rest.slice(0, Toperand.length), expr);
      const y = apply1(base, [x, axes as OpInput], { keep_dims });
      return [
        (finish as Expr).op === "arg" ? y : pointwise([y, ...rest.slice(Toperand.length)], finish),
      ];
    },
  });
}

defineFusedReduction(Sum, "sum");
defineFusedReduction(Mean, "mean");
defineFusedReduction(Prod, "prod");
defineFusedReduction(Max, "max");
defineFusedReduction(Min, "min");
defineFusedReduction(Any, "any");
defineFusedReduction(All, "all");
