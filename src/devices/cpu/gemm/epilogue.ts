/**
 * What happens to sums before they are stored.
 */
import type { Problem } from "../../../core/op.ts";
import { epilogueOf } from "../../../core/fusion.ts";
import type { DType } from "../../../core/dtype.ts";
import { type Expr, exprKey, mayFail } from "../../../core/scalar/expr.ts";
import type { Engine } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { importHosts, printSimd } from "../pointwise/print_simd.ts";
import type { ModuleBuilder } from "../wasm/module_builder.ts";
import type { F4, HostImports, Simd } from "../wasm/simd.ts";

/** What happens to each sum before it is stored: an expression over it (argument 0) and further operands. */
export interface Epilogue {
  /** The expression; its value is float32. */
  readonly expr: Expr;
  /** For each further operand, float32: one value for all, one per column (a bias), or one per element (a residual). */
  readonly operands: readonly ("all" | "column" | "element")[];
}

/** Makes a kernel of a product, perhaps with an epilogue for each of its sums. */
export type SumsPrepare = (engine: Engine, problem: Problem, epilogue?: Epilogue) => FastRun | null;

/** What happens to the sums of a problem's product; null where vector code does not know it. */
export function epilogueFor(problem: Problem): Epilogue | undefined | null {
  const epilogue = epilogueOf(problem);
  if (!epilogue) return epilogue === null ? undefined : null;
  const { expr, operands } = epilogue;
  if (mayFail([expr], dtypesOf(operands))) return null;
  return { expr, operands: operands.map((o) => o.per) };
}

function dtypesOf(operands: readonly unknown[]): DType[] {
  return ["float32", ...operands.map((): DType => "float32")];
}

/** Tells code with one epilogue from code with another. */
export function epilogueKey(epilogue: Epilogue | undefined): string {
  return epilogue ? `${exprKey(epilogue.expr)} ${epilogue.operands}` : "";
}

/** Imports what the code of an epilogue calls. */
export function importEpilogue(
  epilogue: Epilogue | undefined,
): (m: ModuleBuilder) => HostImports {
  return (m) => importHosts(m, epilogue ? [epilogue.expr] : []);
}

/** The results of a vector of sums; `operand` gives the same elements of the further operands. */
export function applyEpilogue(
  s: Simd,
  { expr, operands }: Epilogue,
  sum: F4,
  operand: (per: Epilogue["operands"][number], index: number) => F4,
): F4 {
  return printSimd(s, [expr], dtypesOf(operands), [sum, ...operands.map(operand)])[0] as F4;
}
