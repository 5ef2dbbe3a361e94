/** A reduction as data: its elements, its operation, and its final step. */
import type { BufferRef } from "../../core/dispatch.ts";
import { commonShape, type Epilogue, epilogueOf, fusionOf } from "../../core/fusion.ts";
import type { DType } from "../../core/dtype.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { Problem } from "../../core/op.ts";
import { argument, type Expr, exprType, substitute } from "../../core/scalar/expr.ts";
import type { Shape } from "../../core/shape.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import type { ReduceMeaning, ReduceOp } from "../../core/meaning.ts";

/** A prologue: an expression over operands that are broadcast to `shape`. */
export interface Prologue {
  readonly expr: Expr;
  readonly operands: readonly ConcreteSpec[];
  readonly buffers: readonly BufferRef[];
  readonly shape: Shape;
}

export interface ReduceTask {
  readonly op: ReduceOp;
  readonly shape: Shape;
  readonly dtype: DType;
  readonly axes: NdArray;
  readonly out: ConcreteSpec;
  /** The prologue of the elements; null where they are input 0. */
  readonly prologue: Prologue | null;
  /** The epilogue of each result. */
  readonly epilogue: Epilogue | null;
}

/**
 * Makes the task of a reduction over the axes in its second input, with its fusion; null where no kernel supports it.
 */
export function reduceTask(
  { op, term, finish }: ReduceMeaning,
): (problem: Problem) => ReduceTask | null {
  return (problem) => {
    const { inputs, hosts: [, axes], outputs: [out], attrs } = problem;
    const fusedEpilogue = epilogueOf(problem), fused = fusionOf(attrs)?.prologue;
    if (axes === undefined || fusedEpilogue === undefined) return null;
    const epilogue = finish ? finished(finish, fusedEpilogue) : fusedEpilogue;
    if (!fused && !term) {
      const [{ shape, dtype }] = inputs;
      return { op, shape, dtype, axes, out, prologue: null, epilogue };
    }
    const { expr: element, inputs: from } = fused ?? { expr: argument(0), inputs: [0] };
    const expr = term ? substitute(term, [element]) : element;
    const operands = from.map((i) => inputs[i]);
    const shape = commonShape(operands.map((o) => o.shape)) as Shape;
    const dtype = exprType(expr, operands.map((o) => o.dtype));
    const buffers = from.map((input) => ({ input }));
    return { op, shape, dtype, axes, out, prologue: { expr, operands, buffers, shape }, epilogue };
  };
}

/** Composes the op's final step with an epilogue. */
function finished(finish: Expr, epilogue: Epilogue | null): Epilogue {
  if (epilogue === null) return { expr: finish, operands: [] };
  const { expr, operands } = epilogue;
  const args = [finish, ...operands.map((_, i) => argument(i + 1))];
  return { expr: substitute(expr, args), operands };
}
