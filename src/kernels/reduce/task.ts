/**
 * What a reduction does, as data: which elements it takes, how it combines them, and what becomes of each result.
 */
import type { BufferRef } from "../../core/dispatch.ts";
import type { DType } from "../../core/dtype.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { Problem } from "../../core/op.ts";
import type { Expr } from "../../core/scalar/expr.ts";
import type { Shape } from "../../core/shape.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import type { Epilogue } from "../matmul/epilogue.ts";
import type { ReduceOp } from "../host/reduce.ts";

/** Elements that are computed on the way: an expression over operands that are broadcast. */
export interface Prologue {
  /** The expression. */
  readonly expr: Expr;
  /** Its operands. */
  readonly operands: readonly ConcreteSpec[];
  /** Where they lie. */
  readonly buffers: readonly BufferRef[];
  /** What they are broadcast to. */
  readonly shape: Shape;
}

/** What is reduced, and how. */
export interface ReduceTask {
  /** The reduction. */
  readonly op: ReduceOp;
  /** Shape of what is reduced. */
  readonly shape: Shape;
  /** Its element type. */
  readonly dtype: DType;
  /** Axes that go. */
  readonly axes: NdArray;
  /** The result. */
  readonly out: ConcreteSpec;
  /** What computes the elements; null where they are input 0. */
  readonly prologue: Prologue | null;
  /** What is done to each result. */
  readonly epilogue: Epilogue | null;
}

/** The task of a reduction of its first input over the axes in the second. */
export function plainTask(op: ReduceOp): (problem: Problem) => ReduceTask {
  return ({ inputs: [x], hosts, outputs: [out] }) => ({
    op,
    shape: x.shape,
    dtype: x.dtype,
    axes: hosts[1]!,
    out,
    prologue: null,
    epilogue: null,
  });
}
