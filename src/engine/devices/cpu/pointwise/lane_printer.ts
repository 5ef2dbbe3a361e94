/** Printers of scalar ops as vector code: tables of functions by op, one for each kind of lanes. */
import type { Expr, ScalarOp } from "../../../core/scalar/expr.ts";
import type { Simd } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";

/** Four elements: floats, integers, or masks. */
export type Lanes = Value<"f32x4"> | Value<"i32x4">;

/** Prints an op on these operands; the expression tells the constants among them. */
export type LanePrinter<T extends Lanes> = (s: Simd, operands: readonly T[], e: Expr) => Lanes;
/** Printers of the ops that have code for these lanes. */
export type LanePrinters<T extends Lanes> = Partial<Record<ScalarOp, LanePrinter<T>>>;

/** Makes printers of ops that are one instruction. */
export function instructions<T extends Lanes>(
  table: Readonly<Partial<Record<ScalarOp, (...x: T[]) => Lanes>>>,
): LanePrinters<T> {
  const printer = (print: (...x: T[]) => Lanes): LanePrinter<T> => (_, x) => print(...x);
  return Object.fromEntries(Object.entries(table).map(([op, print]) => [op, printer(print)]));
}

/** Makes printers of ops that return their operand. */
export function unchanged<T extends Lanes>(...ops: readonly ScalarOp[]): LanePrinters<T> {
  return Object.fromEntries(ops.map((op): [string, LanePrinter<T>] => [op, (_, [a]) => a]));
}
