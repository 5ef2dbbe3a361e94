/**
 * How scalar ops become vector code: tables of functions by op, one for each kind of lanes.
 */
import type { Expr, ScalarOp } from "../../../core/scalar/expr.ts";
import type { Simd } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";

/** Four elements: floats, integers, or masks. */
export type Lanes = Value<"f32x4"> | Value<"i32x4">;

/** Prints an op on these operands; the expression tells which of them are constants. */
export type LanePrinter<T extends Lanes> = (s: Simd, operands: readonly T[], e: Expr) => Lanes;
/** Printers of the ops that these lanes have code for. */
export type LanePrinters<T extends Lanes> = Partial<Record<ScalarOp, LanePrinter<T>>>;

/** One instruction. */
export function instruction<T extends Lanes>(print: (...x: T[]) => Lanes): LanePrinter<T> {
  return (_, x) => print(...x);
}

/** Makes printers of ops that are one instruction of the same name. */
export function instructionsOf<T extends Lanes>(): <K extends ScalarOp>(
  table: Readonly<Record<K, (...x: T[]) => Lanes>>,
  ops: readonly K[],
) => LanePrinters<T> {
  return (table, ops) => Object.fromEntries(ops.map((op) => [op, instruction(table[op])]));
}

/** The operand itself. */
export function same<T extends Lanes>(_: Simd, [a]: readonly T[]): Lanes {
  return a;
}
