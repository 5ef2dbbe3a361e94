/** Scalar expressions as nodes: each primitive of a pointwise op by ONNX's of the same meaning. */
import { type DType, DTYPES, isInteger, isShort } from "../../engine/core/dtype.ts";
import {
  type Expr,
  exprType,
  once,
  operandsOf,
  type ScalarOp,
} from "../../engine/core/scalar/expr.ts";
import { compare, expand, shapeOf, where } from "./helpers.ts";
import type { NodeWriter } from "./node_writer.ts";
import type { Ref } from "./ref.ts";

type Write = (n: NodeWriter, xs: readonly Ref[]) => Ref;

/** Makes a primitive that is one node. */
function one(op: string): Write {
  return (n, xs) => n.node(op, xs);
}

function test(op: string): Write {
  return (n, [a, b]) => compare(n, op, a, b);
}

function literal(n: NodeWriter, x: Ref, value: number): Ref {
  return n.scalar(value, x.dtype);
}

/** Makes a primitive that leaves integers as they are. */
function ofFloats(op: string): Write {
  return (n, [x]) => isInteger(x.dtype) ? x : n.node(op, [x]);
}

function negative(n: NodeWriter, [x]: readonly Ref[]): Ref {
  return DTYPES[x.dtype].kind === "uint"
    ? n.node("Sub", [literal(n, x, 0), x])
    : n.node("Neg", [x]);
}

/** The remainder of floats has the dividend's sign in ONNX. */
function floorMod(n: NodeWriter, [a, b]: readonly Ref[]): Ref {
  if (isInteger(a.dtype)) return n.node("Mod", [a, b]);
  const r = n.node("Mod", [a, b], { fmod: 1n }), zero = literal(n, a, 0);
  const isOther = n.node("And", [
    n.node("Not", [compare(n, "Equal", r, zero)]),
    n.node("Xor", [compare(n, "Less", r, zero), compare(n, "Less", b, zero)]),
  ]);
  return where(n, isOther, n.node("Add", [r, b]), r);
}

function floorDiv(n: NodeWriter, [a, b]: readonly Ref[]): Ref {
  if (!isInteger(a.dtype)) return n.node("Floor", [n.node("Div", [a, b])]);
  return n.node("Div", [n.node("Sub", [a, n.node("Mod", [a, b])]), b]);
}

function truncated(n: NodeWriter, [x]: readonly Ref[]): Ref {
  if (isInteger(x.dtype)) return x;
  const isNegative = compare(n, "Less", x, literal(n, x, 0));
  return where(n, isNegative, n.node("Ceil", [x]), n.node("Floor", [x]));
}

/** `tanh(x / 2) * (exp(x) + 1)` is exact near 0, where `exp(x) - 1` is not. */
function expm1(n: NodeWriter, [x]: readonly Ref[]): Ref {
  const half = n.node("Tanh", [n.node("Mul", [x, literal(n, x, 0.5)])]);
  return n.node("Mul", [half, n.node("Add", [n.node("Exp", [x]), literal(n, x, 1)])]);
}

/** `log(u) * x / (u - 1)` for `u = 1 + x` is exact near 0, where `log(u)` is not. */
function log1p(n: NodeWriter, [x]: readonly Ref[]): Ref {
  const one = literal(n, x, 1), u = n.node("Add", [x, one]), log = n.node("Log", [u]);
  const near = n.node("Mul", [log, n.node("Div", [x, n.node("Sub", [u, one])])]);
  const small = where(n, compare(n, "Equal", u, one), x, near);
  return where(n, compare(n, "Less", n.node("Abs", [x]), one), small, log);
}

function atan2(n: NodeWriter, [y, x]: readonly Ref[]): Ref {
  const zero = literal(n, y, 0), angle = n.node("Atan", [n.node("Div", [y, x])]);
  // Zeros have signs.
  const isBelow = n.node("Or", [
    compare(n, "Less", y, zero),
    compare(n, "Less", n.node("Reciprocal", [y]), zero),
  ]);
  const turn = where(n, isBelow, literal(n, y, -Math.PI), literal(n, y, Math.PI));
  const upright = where(n, isBelow, literal(n, y, -Math.PI / 2), literal(n, y, Math.PI / 2));
  const side = where(n, compare(n, "Less", x, zero), n.node("Add", [angle, turn]), angle);
  const onAxis = where(n, compare(n, "Equal", y, zero), n.node("Add", [x, y]), upright);
  return where(n, compare(n, "Equal", x, zero), onAxis, side);
}

function notEqual(n: NodeWriter, [a, b]: readonly Ref[]): Ref {
  return n.node("Not", [compare(n, "Equal", a, b)]);
}

function bits(op: string): Write {
  return (n, xs) => {
    if (n.target.opset < 18) n.lacks(`${op} is of version 18, pass { opset: 18 }`);
    return n.node(op, xs);
  };
}

const UNSIGNED: Partial<Record<DType, DType>> = {
  int8: "uint8",
  int16: "uint32",
  int32: "uint32",
  int64: "uint64",
  uint16: "uint32",
};

/** ONNX shifts unsigned integers. */
function shift(direction: "LEFT" | "RIGHT"): Write {
  return (n, [x, by]) => {
    const own = x.dtype, type = UNSIGNED[own] ?? own, width = 8 * DTYPES[own].bytes;
    const isSigned = DTYPES[own].kind === "int";
    const masked = n.cast(n.node("Mod", [n.cast(by, "int64"), n.scalar(width, "int64")]), type);
    const shifted = (v: Ref): Ref =>
      n.cast(n.node("BitShift", [n.cast(v, type), masked], { direction }), own);
    if (direction === "LEFT" || !isSigned) return shifted(x);
    const minusOne = literal(n, x, -1), rest = (v: Ref): Ref => n.node("Sub", [minusOne, v]);
    // A negative number is shifted by its complement, whose sign is 0.
    const isNegative = compare(n, "Less", x, literal(n, x, 0));
    return where(n, isNegative, rest(shifted(rest(x))), shifted(x));
  };
}

function isFinite(n: NodeWriter, [x]: readonly Ref[]): Ref {
  if (isInteger(x.dtype)) return n.node("Equal", [x, x], {}, { dtype: "bool" });
  return n.node("Not", [
    n.node("Or", [
      n.node("IsNaN", [x], {}, { dtype: "bool" }),
      n.node("IsInf", [x], {}, { dtype: "bool" }),
    ]),
  ]);
}

/** Makes a test that no integer passes. */
function oddFloat(op: string): Write {
  return (n, [x]) =>
    isInteger(x.dtype)
      ? n.node("Not", [compare(n, "Equal", x, x)])
      : n.node(op, [x], {}, { dtype: "bool" });
}

const PRIMITIVES: Partial<Record<ScalarOp, Write>> = {
  add: one("Add"),
  sub: one("Sub"),
  mul: one("Mul"),
  div: one("Div"),
  floordiv: floorDiv,
  floormod: floorMod,
  truncmod: (n, xs) => n.node("Mod", xs, { fmod: 1n }),
  pow: one("Pow"),
  atan2,
  min: one("Min"),
  max: one("Max"),
  neg: negative,
  abs: one("Abs"),
  sign: one("Sign"),
  floor: ofFloats("Floor"),
  ceil: ofFloats("Ceil"),
  round: ofFloats("Round"),
  trunc: truncated,
  sqrt: one("Sqrt"),
  rsqrt: (n, xs) => n.node("Reciprocal", [n.node("Sqrt", xs)]),
  exp: one("Exp"),
  expm1,
  log: one("Log"),
  log1p,
  sin: one("Sin"),
  cos: one("Cos"),
  tan: one("Tan"),
  asin: one("Asin"),
  acos: one("Acos"),
  atan: one("Atan"),
  sinh: one("Sinh"),
  cosh: one("Cosh"),
  tanh: one("Tanh"),
  asinh: one("Asinh"),
  acosh: one("Acosh"),
  atanh: one("Atanh"),
  erf: one("Erf"),
  lt: test("Less"),
  le: test("LessOrEqual"),
  gt: test("Greater"),
  ge: test("GreaterOrEqual"),
  eq: test("Equal"),
  ne: notEqual,
  and: one("And"),
  or: one("Or"),
  xor: one("Xor"),
  not: one("Not"),
  select: (n, [condition, yes, no]) => where(n, condition, yes, no),
  isnan: oddFloat("IsNaN"),
  isinf: oddFloat("IsInf"),
  isfinite: isFinite,
  bitand: bits("BitwiseAnd"),
  bitor: bits("BitwiseOr"),
  bitxor: bits("BitwiseXor"),
  bitnot: bits("BitwiseNot"),
  shl: shift("LEFT"),
  shr: shift("RIGHT"),
  real: (_, [x]) => x,
  conj: (_, [x]) => x,
  imag: (n, [x]) => n.node("Sub", [x, x]),
};

/** Primitives that are others on booleans. */
const OF_BOOLEANS: Partial<Record<ScalarOp, Write>> = {
  add: one("Or"),
  max: one("Or"),
  mul: one("And"),
  min: one("And"),
  ne: one("Xor"),
};

/** Writes an expression of halves in float32, which is rounded once. */
export function writeWide(n: NodeWriter, expr: Expr, xs: readonly Ref[]): Ref {
  const known = new Map<Expr, Expr>();
  const widened = (e: Expr): Expr => {
    if (e.args.length === 0) return e;
    let made = known.get(e);
    if (made === undefined) {
      const isCast = e.dtype !== undefined && isShort(e.dtype);
      made = { ...e, args: e.args.map(widened), ...(isCast && { dtype: "float32" as const }) };
      known.set(e, made);
    }
    return made;
  };
  const floats = xs.map((x) => isShort(x.dtype) ? n.cast(x, "float32") : x);
  return writeExpr(n, widened(expr), floats, "float32");
}

/** Writes an expression of operands; its numbers take the dtype `hint`. */
export function writeExpr(n: NodeWriter, expr: Expr, xs: readonly Ref[], hint: DType): Ref {
  const dtypes = xs.map((x) => x.dtype);
  const write = once((e: Expr, hint: DType): Ref => {
    switch (e.op) {
      case "arg":
        return xs[e.value!];
      case "const":
        return n.scalar(isInteger(hint) ? Math.trunc(e.value!) : e.value!, hint);
      case "keep":
        return write(e.args[0], hint);
      case "cast": {
        const from = exprType(e.args[0], dtypes, e.dtype);
        return convert(n, write(e.args[0], from), e.dtype!);
      }
    }
    const { type } = operandsOf(e, dtypes, hint);
    const operands = e.args.map((a, i) => write(a, e.op === "select" && i === 0 ? "bool" : type));
    return writePrimitive(n, e.op, operands);
  });
  return write(expr, hint);
}

/** Writes a primitive of real operands. */
export function writePrimitive(n: NodeWriter, op: ScalarOp, operands: readonly Ref[]): Ref {
  const isBool = operands[0].dtype === "bool" && op !== "select";
  const primitive = (isBool ? OF_BOOLEANS[op] : undefined) ?? PRIMITIVES[op];
  if (primitive === undefined) return n.lacks(`ONNX has no counterpart of ${op}`);
  return primitive(n, operands);
}

/** Casts as Weft does: floats beyond the ends of an integer type become these. */
function convert(n: NodeWriter, x: Ref, dtype: DType): Ref {
  if (dtype !== "string" || x.dtype === "string") return n.cast(x, dtype);
  return expand(n, n.scalar(0, "string"), shapeOf(n, x));
}

/** Primitives that are several nodes. */
const COMPOSITE: ReadonlySet<ScalarOp> = new Set([
  "expm1",
  "log1p",
  "rsqrt",
  "atan2",
  "floormod",
  "floordiv",
  "trunc",
]);

/** Number of an expression's nodes, roughly. */
export function countOf(expr: Expr): number {
  const seen = new Set<Expr>();
  const visit = (e: Expr): number => {
    if (seen.has(e)) return 0;
    seen.add(e);
    const isLeaf = e.op === "arg" || e.op === "const" || e.op === "keep";
    const own = isLeaf ? 0 : COMPOSITE.has(e.op) ? 2 : 1;
    return e.args.reduce((sum, a) => sum + visit(a), own);
  };
  return visit(expr);
}
