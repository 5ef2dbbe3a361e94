/** Expressions that are a number's product with others. */
import { argumentsOf, constant, type Expr, scalar } from "../../core/scalar/expr.ts";
import { constantOf } from "./attention_match.ts";

const isFree = (e: Expr): boolean => !argumentsOf(e).includes(0);

/**
 * Returns what an expression multiplies argument 0 by, in one form for equal factors: choices outside, numbers multiplied; null where
 * it does something else.
 */
export function coefficientOf(e: Expr): Expr | null {
  switch (e.op) {
    case "arg":
      return e.value === 0 ? constant(1) : null;
    case "keep":
    case "cast":
      return isFree(e) ? zeroOf(e) : e.op === "keep" ? coefficientOf(e.args[0]) : null;
    case "const":
      return zeroOf(e);
    case "mul": {
      const [x, y] = e.args, [other, own] = isFree(x) ? [x, y] : [y, x];
      return isFree(other) ? times(coefficientOf(own), bare(other)) : null;
    }
    case "div": {
      const number = constantOf(e.args[1]);
      return number === null ? null : times(coefficientOf(e.args[0]), constant(1 / number));
    }
    case "select": {
      const [condition, ...cases] = e.args, [x, y] = cases.map(coefficientOf);
      return x && y && isFree(condition) ? scalar.select(bare(condition), x, y) : null;
    }
  }
  return null;
}

function zeroOf(e: Expr): Expr | null {
  return constantOf(e) === 0 ? constant(0) : null;
}

function times(x: Expr | null, y: Expr): Expr | null {
  if (x === null || x.op === "const" && x.value === 0) return x;
  if (x.op === "const" && x.value === 1) return y;
  if (x.op === "select") {
    return scalar.select(x.args[0], times(x.args[1], y)!, times(x.args[2], y)!);
  }
  const [a, b] = [x, y].map(constantOf);
  return a !== null && b !== null ? constant(a * b) : scalar.mul(x, y);
}

/** Returns an expression without what only keeps compilers from changing it. */
function bare(e: Expr): Expr {
  if (e.op === "keep") return bare(e.args[0]);
  const number = constantOf(e);
  return number !== null
    ? constant(number)
    : e.args.length === 0
    ? e
    : { ...e, args: e.args.map(bare) };
}
