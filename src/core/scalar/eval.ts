/**
 * Evaluates scalar expressions by closures: for places where printed code may not be compiled (a page whose content security
 * policy forbids `new Function`). Slow, and equal to what `scalar_js` prints.
 */
import { type DType, DTYPES, INTEGER_ENDS, isBigInt } from "../dtype.ts";
import { type Expr, exprType, once, operandsOf, type ScalarOp } from "./expr.ts";
import * as cm from "./complex.ts";
import * as m from "./math.ts";
import { arithmeticOf, constantValue, partOf } from "./js.ts";
import { OF_MATH } from "./js_text.ts";
import type { Pair } from "./math.ts";
import { UnimplementedError } from "../errors.ts";

/** A value in the arithmetic of its dtype. */
export type ScalarValue = number | bigint | boolean | Uint8Array | Pair;

type Fn = (a: never, b: never, c: never) => ScalarValue;
type Fns = Partial<Record<ScalarOp, Fn>>;

const COMPARISONS: Fns = {
  lt: (a: number, b: number) => a < b,
  le: (a: number, b: number) => a <= b,
  gt: (a: number, b: number) => a > b,
  ge: (a: number, b: number) => a >= b,
  eq: (a: number, b: number) => a === b,
  ne: (a: number, b: number) => a !== b,
};
const EXACT_TESTS: Fns = { isnan: () => false, isinf: () => false, isfinite: () => true };
const same = (a: number): number => a;
/** What numbers do as 64-bit integers do. */
const NUMBER: Fns = {
  ...COMPARISONS,
  add: (a: number, b: number) => a + b,
  sub: (a: number, b: number) => a - b,
  neg: (a: number) => -a,
  real: same,
  conj: same,
};

const BOOL: Fns = {
  ...COMPARISONS,
  ...EXACT_TESTS,
  and: (a: boolean, b: boolean) => a && b,
  or: (a: boolean, b: boolean) => a || b,
  xor: (a: boolean, b: boolean) => a !== b,
  not: (a: boolean) => !a,
  add: (a: boolean, b: boolean) => a || b,
  max: (a: boolean, b: boolean) => a || b,
  mul: (a: boolean, b: boolean) => a && b,
  min: (a: boolean, b: boolean) => a && b,
};

const WHOLE: Fns = {
  ...NUMBER,
  ...EXACT_TESTS,
  floor: same,
  ceil: same,
  round: same,
  trunc: same,
  bitand: (a: number, b: number) => a & b,
  bitor: (a: number, b: number) => a | b,
  bitxor: (a: number, b: number) => a ^ b,
  bitnot: (a: number) => ~a,
};

const INT: Fns = {
  ...WHOLE,
  imag: () => 0,
  mul: Math.imul,
  div: (a: number, b: number) => (b === 0 ? m.dividedByZero() : Math.trunc(a / b)),
  floordiv: (a: number, b: number) => (b === 0 ? m.dividedByZero() : Math.floor(a / b)),
  truncmod: (a: number, b: number) => (b === 0 ? m.dividedByZero() : a % b),
  floormod: (a: number, b: number) => (b === 0 ? m.dividedByZero() : m.floorMod(a, b)),
  pow: m.ipow,
  min: Math.min,
  max: Math.max,
  abs: Math.abs,
  sign: Math.sign,
};

const BIG: Fns = {
  ...WHOLE,
  imag: () => 0n,
  mul: (a: bigint, b: bigint) => a * b,
  div: m.bdiv,
  floordiv: m.bfloorDiv,
  truncmod: m.bmod,
  floormod: m.bfloorMod,
  pow: m.bpow,
  min: (a: bigint, b: bigint) => (a < b ? a : b),
  max: (a: bigint, b: bigint) => (a > b ? a : b),
  abs: (a: bigint) => (a < 0n ? -a : a),
  sign: (a: bigint) => (a < 0n ? -1n : a > 0n ? 1n : 0n),
  shl: (a: bigint, b: bigint) => a << (b & 63n),
  shr: (a: bigint, b: bigint) => a >> (b & 63n),
};

const FLOAT: Fns = {
  ...NUMBER,
  ...Object.fromEntries(OF_MATH.map((op) => [op, Math[op] as Fn])),
  imag: () => 0,
  mul: (a: number, b: number) => a * b,
  div: (a: number, b: number) => a / b,
  floordiv: (a: number, b: number) => Math.floor(a / b),
  truncmod: (a: number, b: number) => a % b,
  floormod: m.floorMod,
  pow: m.pow,
  atan2: Math.atan2,
  min: Math.min,
  max: Math.max,
  round: m.roundEven,
  rsqrt: (a: number) => 1 / Math.sqrt(a),
  erf: m.erf,
  isnan: (a: number) => a !== a,
  isinf: (a: number) => a === Infinity || a === -Infinity,
  isfinite: Number.isFinite as (a: number) => boolean,
};

/** A function of the parts of one or two complex numbers as one of pairs. */
function ofPairs(f: (a: number, b: number, c: number, d: number) => Pair): Fn {
  return ([a, b]: Pair, [c, d]: Pair = [0, 0]) => f(a, b, c, d);
}

const COMPLEX: Fns = {
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

const STRING: Fns = Object.fromEntries(
  Object.entries(COMPARISONS).map(([op, test]) => [
    op,
    (a: Uint8Array, b: Uint8Array) => test(m.compareBytes(a, b) as never, 0 as never, 0 as never),
  ]),
);

const TABLES = { bool: BOOL, int: INT, big: BIG, float: FLOAT, complex: COMPLEX, string: STRING };

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
  let fn = TABLES[kind][op];
  if (kind === "int") {
    if (op === "shl") fn = (a: number, b: number) => a << (b & bits);
    if (op === "shr") {
      fn = (a: number, b: number) => (type === "uint32" ? a >>> (b & bits) : a >> (b & bits));
    }
    const real = FLOAT[op];
    const cut = type === "uint32" ? m.toUint : m.toInt;
    if (!fn && real) fn = (a: never, b: never) => cut(real(a, b, b) as number);
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
