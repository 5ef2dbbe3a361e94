/**
 * Evaluates scalar expressions by closures: for places where printed code may not be compiled (a page whose content security
 * policy forbids `new Function`). Slow, and equal to what `scalar_js` prints.
 */
import { type DType, DTYPES, INTEGER_ENDS, isBigInt } from "../dtype.ts";
import { type Expr, exprType, once, operandsOf, type ScalarOp } from "./expr.ts";
import * as cm from "./complex.ts";
import * as m from "./math.ts";
import { arithmeticOf, constantValue, partOf } from "./js.ts";
import { BIG, BOOL, COMPARISONS, FLOAT, INT, type Run, type ScalarValue } from "./operations.ts";
import type { Pair } from "./math.ts";
import { UnimplementedError } from "../errors.ts";

type Runs = Partial<Record<ScalarOp, Run>>;

/** A function of the parts of one or two complex numbers as one of pairs. */
function ofPairs(f: (a: number, b: number, c: number, d: number) => Pair): Run {
  return ([a, b]: Pair, [c, d]: Pair = [0, 0]) => f(a, b, c, d);
}

const COMPLEX: Runs = {
  // Each is called as its primitive, with a `c` in front.
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

/** What an arithmetic other than that of complex numbers does. */
const OPERATIONS = { bool: BOOL, int: INT, big: BIG, float: FLOAT, string: COMPARISONS };

/** Brings a result into its dtype's range and precision. */
function settle(type: DType): ((v: ScalarValue) => ScalarValue) | null {
  const { kind, bytes } = DTYPES[type], unused = 32 - 8 * bytes;
  if (kind === "float") return type === "float64" ? null : (v) => Math.fround(v as number);
  if (isBigInt(type)) {
    const wrap = kind === "int" ? BigInt.asIntN : BigInt.asUintN;
    return (v) => wrap(64, v as bigint);
  }
  if (kind === "int") return (v) => (v as number) << unused >> unused;
  return kind === "uint" ? (v) => (v as number) << unused >>> unused : null;
}

function functionOf(op: ScalarOp, type: DType): (a: ScalarValue, b: ScalarValue) => ScalarValue {
  const kind = arithmeticOf(type);
  const bits = 8 * DTYPES[type].bytes - 1;
  let fn = kind === "complex" ? COMPLEX[op] : OPERATIONS[kind][op]?.run;
  if (kind === "string" && fn) {
    const test = fn;
    fn = (a: Uint8Array, b: Uint8Array) => test(m.compareBytes(a, b) as never, 0 as never);
  }
  if (kind === "int") {
    if (op === "shl") fn = (a: number, b: number) => a << (b & bits);
    if (op === "shr") {
      fn = (a: number, b: number) => (type === "uint32" ? a >>> (b & bits) : a >> (b & bits));
    }
    const real = FLOAT[op]?.run;
    const cut = type === "uint32" ? m.toUint : m.toInt;
    if (!fn && real) fn = (a: never, b: never) => cut(real(a, b) as number);
  }
  if (op === "floordiv" && kind === "float" && type !== "float64") {
    fn = (a: number, b: number) => Math.floor(Math.fround(a / b));
  }
  if (!fn) throw new UnimplementedError(`Cannot compute ${op} of ${type}`);
  return fn as unknown as (a: ScalarValue, b: ScalarValue) => ScalarValue;
}

function castFunction(from: DType, to: DType): (v: ScalarValue) => ScalarValue {
  const kind = DTYPES[from].kind, target = DTYPES[to].kind;
  if (target === "complex") {
    const convert = castFunction(partOf(from), partOf(to)) as (v: ScalarValue) => number;
    return kind === "complex"
      ? (v) => [convert((v as Pair)[0]), convert((v as Pair)[1])]
      : (v) => [convert(v), 0];
  }
  if (kind === "complex") {
    const convert = castFunction(partOf(from), to);
    return (v) => convert((v as Pair)[0]);
  }
  if (to === "bool") return (v) => (typeof v === "bigint" ? v !== 0n : v !== 0 && v !== false);
  if (isBigInt(to)) {
    if (kind === "float") {
      return to === "int64" ? (v) => m.toInt64(v as number) : (v) => m.toUint64(v as number);
    }
    const wrap = settle(to)!;
    return (v) => wrap(BigInt(v as number));
  }
  if (target === "int" || target === "uint") {
    const wrap = settle(to)!;
    if (kind === "float" && to === "int32") return (v) => m.toInt(v as number);
    if (kind === "float" && to === "uint32") return (v) => m.toUint(v as number);
    if (kind === "float") {
      const [low, high] = INTEGER_ENDS[to] as readonly [number, number];
      return (v) => m.toRange(v as number, low, high);
    }
    return (v) => wrap(typeof v === "bigint" ? Number(BigInt.asIntN(53, v)) : Number(v));
  }
  switch (to) {
    case "float32":
      return (v) => Math.fround(Number(v));
    case "float16":
      return (v) => m.roundToHalf(Number(v));
    case "bfloat16":
      return (v) => m.roundToBfloat(Number(v));
  }
  return (v) => Number(v);
}

/** A function from the values of the arguments to those of the expressions. Throws `UnimplementedError` as printing does. */
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
    const finish = settle(type);
    if (!finish) return (_, r) => f(r[a], r[b]);
    return (_, r) => {
      const v = f(r[a], r[b]);
      return typeof v === "boolean" ? v : finish(v);
    };
  };
  const roots = exprs.map((e) => visit(e, exprType(e, dtypes)));
  return (args) => {
    const regs: ScalarValue[] = new Array(steps.length);
    for (let i = 0; i < steps.length; i++) regs[i] = steps[i](args, regs);
    return roots.map((r) => regs[r]);
  };
}
