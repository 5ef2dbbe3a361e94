/**
 * Evaluates scalar expressions by closures, where printed code may not be compiled (a page whose content security
 * policy forbids `new Function`). Slow, and equal to the code that `js.ts` prints.
 */
import { type DType, DTYPES } from "../dtype.ts";
import { type Expr, exprType, once, operandsOf, type ScalarOp } from "./expr.ts";
import * as cm from "./complex.ts";
import { constantValue } from "./js.ts";
import type { Pair } from "./math.ts";
import { castOf, operationOf, partOf, type Run, type ScalarValue } from "./operations.ts";
import { UnimplementedError } from "../errors.ts";

type Runs = Partial<Record<ScalarOp, Run>>;

/** Wraps a function of the parts of one or two complex numbers as one of pairs. */
function ofPairs(f: (a: number, b: number, c: number, d: number) => Pair): Run {
  return ([a, b]: Pair, [c, d]: Pair = [0, 0]) => f(a, b, c, d);
}

const COMPLEX: Runs = {
  // Each is named as its primitive, with a `c` in front.
  ...Object.fromEntries(Object.entries(cm).map(([name, f]) => [name.slice(1), ofPairs(f)])),
  add: ofPairs((a, b, c, d) => [a + c, b + d]),
  sub: ofPairs((a, b, c, d) => [a - c, b - d]),
  mul: ofPairs((a, b, c, d) => [a * c - b * d, a * d + b * c]),
  neg: ofPairs((a, b) => [-a, -b]),
  conj: ofPairs((a, b) => [a, -b]),
  real: ([a]: Pair) => a,
  imag: ([, b]: Pair) => b,
  abs: ([a, b]: Pair) => Math.hypot(a, b),
  eq: ([a, b]: Pair, [c, d]: Pair) => a === c && b === d,
  ne: ([a, b]: Pair, [c, d]: Pair) => a !== c || b !== d,
};

function functionOf(op: ScalarOp, type: DType): (a: ScalarValue, b: ScalarValue) => ScalarValue {
  const run = DTYPES[type].kind === "complex" ? COMPLEX[op] : operationOf(op, type).run;
  if (!run) throw new UnimplementedError(`Cannot compute ${op} of ${type}`);
  return run as (a: ScalarValue, b: ScalarValue) => ScalarValue;
}

function castFunction(from: DType, to: DType): (v: ScalarValue) => ScalarValue {
  const convert = castOf(partOf(from), partOf(to)).run as (v: ScalarValue) => ScalarValue;
  const isPair = DTYPES[from].kind === "complex";
  if (DTYPES[to].kind !== "complex") return isPair ? (v) => convert((v as Pair)[0]) : convert;
  const part = convert as (v: ScalarValue) => number;
  return isPair ? (v) => [part((v as Pair)[0]), part((v as Pair)[1])] : (v) => [part(v), 0];
}

/**
 * Makes a function from the values of the arguments to those of the expressions. Throws `UnimplementedError` as
 * printing does.
 */
export function evaluator(
  exprs: readonly Expr[],
  dtypes: readonly DType[],
): (args: readonly ScalarValue[]) => ScalarValue[] {
  type Step = (args: readonly ScalarValue[], regs: ScalarValue[]) => ScalarValue;
  const steps: Step[] = [];
  const visit = once((e, hint): number => {
    const step = stepOf(e, hint);
    return steps.push(step) - 1;
  });
  const stepOf = (e: Expr, hint: DType): Step => {
    if (e.op === "arg") {
      const i = e.value!;
      return (args) => args[i];
    }
    if (e.op === "const") {
      const c = constantValue(e.value!, hint);
      const v = DTYPES[hint].kind === "complex" ? [c as number, 0] as const : c;
      return () => v;
    }
    const { operands, type } = operandsOf(e, dtypes, hint);
    const [a, b] = operands.map((o) => visit(o, type));
    if (e.op === "select") {
      const c = visit(e.args[0], "bool");
      return (_, r) => (r[c] ? r[a] : r[b]);
    }
    if (e.op === "cast") {
      const f = castFunction(type, e.dtype!);
      return (_, r) => f(r[a]);
    }
    if (e.op === "keep") return (_, r) => r[a];
    if (e.op === "complex") return (_, r) => [r[a] as number, r[b] as number];
    const f = functionOf(e.op, type);
    return (_, r) => f(r[a], r[b]);
  };
  const roots = exprs.map((e) => visit(e, exprType(e, dtypes)));
  return (args) => {
    const regs: ScalarValue[] = new Array(steps.length);
    for (let i = 0; i < steps.length; i++) regs[i] = steps[i](args, regs);
    return roots.map((r) => regs[r]);
  };
}
