/**
 * What happens to sums before they are stored, and the ops that have it done: as their epilogue says, or nothing.
 */
import type { Problem } from "../../../core/op.ts";
import type { DType } from "../../../core/dtype.ts";
import { type Expr, mayFail } from "../../../core/scalar/expr.ts";
import { meaningOf } from "../../../kernels/host/meaning.ts";
import type { Engine } from "../engine.ts";
import type { FastPrepare, FastRun } from "../fast.ts";

/** What happens to each sum before it is stored: an expression over it (argument 0) and further operands. */
export interface Epilogue {
  /** The expression; its value is float32. */
  readonly expr: Expr;
  /** For each further operand, float32: one value for all, one per column (a bias), or one per element (a residual). */
  readonly operands: readonly ("all" | "column" | "element")[];
}

/** Makes a kernel that applies an epilogue to each of its sums. */
export type EpiloguePrepare = (
  engine: Engine,
  problem: Problem,
  epilogue?: Epilogue,
) => FastRun | null;

/** The kernel of an op that is its sums alone. */
export function plain(prepare: EpiloguePrepare): FastPrepare {
  return (engine, problem) => prepare(engine, problem);
}

/** The kernel of an op that means its sums with an epilogue. */
export function fused(prepare: EpiloguePrepare): FastPrepare {
  return (engine, problem, def) => {
    const epilogue = meaningOf(def)?.epilogue?.(problem);
    if (!epilogue) return null;
    const { expr, operands } = epilogue;
    if (mayFail([expr], ["float32", ...operands.map((): DType => "float32")])) return null;
    return prepare(engine, problem, { expr, operands: operands.map((o) => o.per) });
  };
}
