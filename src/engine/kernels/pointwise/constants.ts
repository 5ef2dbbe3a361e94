/**
 * Numbers of expressions as parameters of a kernel: expressions that differ in them alone share a program, and an adapter compiles it once.
 */
import type { DType } from "../../core/dtype.ts";
import {
  argument,
  type Expr,
  exprType,
  literalOf,
  once,
  operandsOf,
  type ScalarOp,
} from "../../core/scalar/expr.ts";

/** Primitives whose numbers may be unknown to compilers; functions are shorter where they know theirs. */
const TAKES: ReadonlySet<ScalarOp> = new Set<ScalarOp>([
  ...["add", "sub", "mul", "div", "min", "max", "select", "keep"] as const,
]);

/** Expressions over further arguments of float32, and the values of those. */
export interface WithParameters {
  readonly exprs: readonly Expr[];
  readonly values: readonly number[];
}

/** Makes numbers of float32 further arguments, at most `most` of them. Others stay, and so do 0, 1 and -1, which compilers drop. */
export function withParameters(
  exprs: readonly Expr[],
  dtypes: readonly DType[],
  most: number,
): WithParameters {
  const values: number[] = [];
  const made = once((e, hint): Expr => {
    if (e.args.length === 0 || e.op === "cast" && !Number.isNaN(literalOf(e))) return e;
    const { type } = operandsOf(e, dtypes, hint);
    const operand = (x: Expr, i: number): Expr => {
      const isCondition = e.op === "select" && i === 0;
      const isParameter = TAKES.has(e.op) && !isCondition && isFloat(x, type) &&
        isAny(literalOf(x)) && values.length < most;
      if (isParameter) return parameter(x);
      return made(x, isCondition ? "bool" : type);
    };
    return { ...e, args: e.args.map(operand) };
  });
  /** A number that stands in several places is one argument. */
  const known = new Map<Expr, Expr>();
  const parameter = (x: Expr): Expr => {
    let one = known.get(x);
    if (one === undefined) {
      known.set(x, one = argument(dtypes.length + values.length));
      values.push(literalOf(x));
    }
    return one;
  };
  return { exprs: exprs.map((e) => made(e, exprType(e, dtypes))), values };
}

function isFloat(x: Expr, type: DType): boolean {
  return (x.op === "cast" ? x.dtype : type) === "float32";
}

function isAny(value: number): boolean {
  return Number.isFinite(value) && value !== 0 && Math.abs(value) !== 1;
}
