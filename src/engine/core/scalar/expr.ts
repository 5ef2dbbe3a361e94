/**
 * Scalar expressions: the computation of a pointwise op for one element. Printers turn them into WGSL, JavaScript and
 * WebAssembly.
 */
import { type DType, DTYPES, isInteger } from "../dtype.ts";
import { ValueError } from "../errors.ts";
import { describe } from "../text.ts";
import { TypeError } from "../throwing/builtin_errors.ts";

/**
 * Scalar primitives: the leaves, wrappers of a value, and those that {@linkcode scalar} builds. A new one needs a line
 * in each printer.
 * @internal
 */
export type ScalarOp = "arg" | "const" | "cast" | "keep" | keyof typeof scalar;

/** A node of an expression. Shared nodes are computed once. */
export interface Expr {
  /** Primitive. */
  readonly op: ScalarOp;
  /** Operands. */
  readonly args: readonly Expr[];
  /** Argument number (`arg`), value (`const`), or variant (`keep`). */
  readonly value?: number;
  /** Target (`cast`). */
  readonly dtype?: DType;
}

/** Builds an expression from the arguments; `attrs` are the op's. */
export type PointwiseExpr = (
  args: readonly Expr[],
  attrs: Readonly<Record<string, unknown>>,
) => Expr;

/** Prototype of expressions: they are no numbers, so that `x * x` and `x > 0` are errors and not NaN and false. */
const NO_NUMBER: object = {
  [Symbol.toPrimitive](): never {
    throw new TypeError(
      "Cannot use a scalar expression as a JavaScript value: scalar.mul(x, y) and its like make others",
    );
  },
};

function made(parts: Expr): Expr {
  return Object.setPrototypeOf(parts, NO_NUMBER);
}

function node(op: ScalarOp, ...args: (Expr | number)[]): Expr {
  return made({
    op,
    args: args.map((a, i) =>
      typeof a === "number" ? constant(a) : wantExpr(a, `${op}'s operand ${i}`)
    ),
  });
}

/** Returns an expression; throws `TypeError` for any other value, which `what` names. */
export function wantExpr(value: Expr, what: string): Expr {
  if (typeof value === "object" && typeof value?.op === "string") return value;
  throw new TypeError(`Cannot use ${describe(value)} as ${what}: wanted a scalar expression`);
}

/**
 * The i-th operand.
 *
 * @example
 * ```ts
 * import { argument, scalar as s } from "@weft/weft/ops";
 * console.log(s.add(argument(0), argument(1)).op); // add
 * ```
 */
export function argument(i: number): Expr {
  return made({ op: "arg", args: [], value: i });
}
/**
 * Makes a number, in the type of the other operand.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { applyOp, constant, definePointwise, scalar as s } from "@weft/weft/ops";
 * const Halved = definePointwise("Acme>Halved", ([x]) => s.mul(x, constant(0.5)));
 * console.log(applyOp(Halved, [[1, 2]])[0].arraySync()); // [0.5, 1]
 * ```
 */
export function constant(value: number): Expr {
  return made({ op: "const", args: [], value });
}
/**
 * Converts to another dtype.
 *
 * @example
 * ```ts
 * import { argument, castTo } from "@weft/weft/ops";
 * console.log(castTo(argument(0), "int32").dtype); // int32
 * ```
 */
export function castTo(x: Expr, dtype: DType): Expr {
  return made({ op: "cast", args: [x], dtype });
}

/**
 * Makes a value opaque to compilers. GPU drivers apply algebra to floats: to them `x * 0` is 0 and `(x + y) - x` is y,
 * also where x is NaN. A value kept `again` is not known to equal the value kept once.
 */
export function keep(x: Expr, again = false): Expr {
  return made({ op: "keep", args: [x], value: again ? 1 : 0 });
}

type E = Expr | number;
/** Builders, one per primitive; plain numbers become constants. */
export const scalar = {
  add: (a: E, b: E): Expr => node("add", a, b),
  sub: (a: E, b: E): Expr => node("sub", a, b),
  mul: (a: E, b: E): Expr => node("mul", a, b),
  div: (a: E, b: E): Expr => node("div", a, b),
  floordiv: (a: E, b: E): Expr => node("floordiv", a, b),
  floormod: (a: E, b: E): Expr => node("floormod", a, b),
  truncmod: (a: E, b: E): Expr => node("truncmod", a, b),
  pow: (a: E, b: E): Expr => node("pow", a, b),
  atan2: (a: E, b: E): Expr => node("atan2", a, b),
  min: (a: E, b: E): Expr => node("min", a, b),
  max: (a: E, b: E): Expr => node("max", a, b),
  neg: (a: E): Expr => node("neg", a),
  abs: (a: E): Expr => node("abs", a),
  sign: (a: E): Expr => node("sign", a),
  floor: (a: E): Expr => node("floor", a),
  ceil: (a: E): Expr => node("ceil", a),
  round: (a: E): Expr => node("round", a),
  trunc: (a: E): Expr => node("trunc", a),
  sqrt: (a: E): Expr => node("sqrt", a),
  rsqrt: (a: E): Expr => node("rsqrt", a),
  exp: (a: E): Expr => node("exp", a),
  expm1: (a: E): Expr => node("expm1", a),
  log: (a: E): Expr => node("log", a),
  log1p: (a: E): Expr => node("log1p", a),
  sin: (a: E): Expr => node("sin", a),
  cos: (a: E): Expr => node("cos", a),
  tan: (a: E): Expr => node("tan", a),
  asin: (a: E): Expr => node("asin", a),
  acos: (a: E): Expr => node("acos", a),
  atan: (a: E): Expr => node("atan", a),
  sinh: (a: E): Expr => node("sinh", a),
  cosh: (a: E): Expr => node("cosh", a),
  tanh: (a: E): Expr => node("tanh", a),
  asinh: (a: E): Expr => node("asinh", a),
  acosh: (a: E): Expr => node("acosh", a),
  atanh: (a: E): Expr => node("atanh", a),
  erf: (a: E): Expr => node("erf", a),
  lt: (a: E, b: E): Expr => node("lt", a, b),
  le: (a: E, b: E): Expr => node("le", a, b),
  gt: (a: E, b: E): Expr => node("gt", a, b),
  ge: (a: E, b: E): Expr => node("ge", a, b),
  eq: (a: E, b: E): Expr => node("eq", a, b),
  ne: (a: E, b: E): Expr => node("ne", a, b),
  and: (a: E, b: E): Expr => node("and", a, b),
  or: (a: E, b: E): Expr => node("or", a, b),
  xor: (a: E, b: E): Expr => node("xor", a, b),
  not: (a: E): Expr => node("not", a),
  select: (cond: E, yes: E, no: E): Expr => node("select", cond, yes, no),
  isnan: (a: E): Expr => node("isnan", a),
  isinf: (a: E): Expr => node("isinf", a),
  isfinite: (a: E): Expr => node("isfinite", a),
  bitand: (a: E, b: E): Expr => node("bitand", a, b),
  bitor: (a: E, b: E): Expr => node("bitor", a, b),
  bitxor: (a: E, b: E): Expr => node("bitxor", a, b),
  bitnot: (a: E): Expr => node("bitnot", a),
  shl: (a: E, b: E): Expr => node("shl", a, b),
  shr: (a: E, b: E): Expr => node("shr", a, b),
  real: (a: E): Expr => node("real", a),
  imag: (a: E): Expr => node("imag", a),
  conj: (a: E): Expr => node("conj", a),
  complex: (a: E, b: E): Expr => node("complex", a, b),
} as const;

/** Primitives with boolean results. */
export const PREDICATES: ReadonlySet<ScalarOp> = new Set([
  "lt",
  "le",
  "gt",
  "ge",
  "eq",
  "ne",
  "and",
  "or",
  "xor",
  "not",
  "isnan",
  "isinf",
  "isfinite",
]);

/** Returns the result dtype of an expression; constants take `hint`. */
export function exprType(e: Expr, args: readonly DType[], hint?: DType): DType {
  const type = typeOf(e, args);
  if (type !== null) return type;
  return e.op === "const" ? hint ?? "float32" : resultType(e.op, hint ?? "float32");
}

/** Returns the dtype that operands share: that of the first that is not a bare constant. */
export function operandType(
  operands: readonly Expr[],
  args: readonly DType[],
  hint?: DType,
): DType {
  return firstType(operands, args) ?? hint ?? "float32";
}

/** Returns the operands and their type where the result is to be `hint`, without the condition of a `select`. */
export function operandsOf(
  e: Expr,
  args: readonly DType[],
  hint: DType,
): { readonly operands: readonly Expr[]; readonly type: DType } {
  const operands = valuesOf(e);
  return { operands, type: operandType(operands, args, e.op === "cast" ? undefined : hint) };
}

/** Caches `make` by expression and by the type of its constants. */
export function once<T>(make: (e: Expr, hint: DType) => T): (e: Expr, hint: DType) => T {
  const known = new Map<Expr, Map<DType, T>>();
  return (e, hint) => {
    let byHint = known.get(e);
    if (!byHint) known.set(e, byHint = new Map());
    let made = byHint.get(hint);
    if (made === undefined) byHint.set(hint, made = make(e, hint));
    return made;
  };
}

/** Cached types of expressions over the latest arguments: each printer asks for those of every part. */
let known: { readonly args: readonly DType[]; readonly types: WeakMap<Expr, DType | null> } = {
  args: [],
  types: new WeakMap(),
};

/** Returns the dtype; null for an expression of numbers alone, which takes that of the other operand. */
function typeOf(e: Expr, args: readonly DType[]): DType | null {
  switch (e.op) {
    case "arg":
      return args[e.value!];
    case "const":
      return null;
    case "cast":
      return e.dtype!;
  }
  if (PREDICATES.has(e.op)) return "bool";
  if (known.args !== args) known = { args, types: new WeakMap() };
  const { types } = known;
  let type = types.get(e);
  if (type === undefined) {
    const t = firstType(valuesOf(e), args);
    types.set(e, type = t === null ? null : resultType(e.op, t));
  }
  return type;
}

function firstType(operands: readonly Expr[], args: readonly DType[]): DType | null {
  for (const o of operands) {
    const t = typeOf(o, args);
    if (t !== null) return t;
  }
  return null;
}

/** Returns the operands whose dtype is the result's. */
function valuesOf(e: Expr): readonly Expr[] {
  return e.op === "select" ? e.args.slice(1) : e.args;
}

function resultType(op: ScalarOp, t: DType): DType {
  if (op === "complex") return t === "float64" ? "complex128" : "complex64";
  if (DTYPES[t].kind === "complex" && (op === "real" || op === "imag" || op === "abs")) {
    return t === "complex128" ? "float64" : "float32";
  }
  return t;
}

const DIVISIONS: ReadonlySet<ScalarOp> = new Set(["div", "floordiv", "floormod", "truncmod"]);

/** True where an element may have no result: an integer divided by 0, or to a negative power. */
export function mayFail(exprs: readonly Expr[], dtypes: readonly DType[]): boolean {
  const seen = new Set<Expr>();
  const visit = (e: Expr): boolean => {
    if (seen.has(e)) return false;
    seen.add(e);
    const fails = DIVISIONS.has(e.op)
      ? mayBeZero(e.args[1])
      : e.op === "pow" && !(literalOf(e.args[1]) >= 0);
    return (fails && isInteger(operandType(e.args, dtypes))) || e.args.some(visit);
  };
  return exprs.some(visit);
}

/** True except for numbers that an integer can be divided by. */
export function mayBeZero(e: Expr): boolean {
  return !(Math.abs(literalOf(e)) >= 1);
}

/** Returns the number that an expression is; NaN for others. */
export function literalOf(e: Expr): number {
  if (e.op === "cast") return literalOf(e.args[0]);
  return e.op === "const" ? e.value! : NaN;
}

/**
 * Returns a text that is equal for equal expressions, as a cache key. Shared nodes are written once, so it stays short.
 */
export function exprKey(...exprs: readonly Expr[]): string {
  const seen = new Map<Expr, number>();
  const visit = (e: Expr): string => {
    switch (e.op) {
      case "arg":
        return `$${e.value}`;
      case "const":
        return Object.is(e.value, -0) ? "-0" : String(e.value);
    }
    const before = seen.get(e);
    if (before !== undefined) return `#${before}`;
    const args = e.args.map(visit).join(",");
    seen.set(e, seen.size);
    return `${e.op === "cast" ? e.dtype : `${e.op}${e.value ?? ""}`}(${args})`;
  };
  return exprs.map(visit).join(";");
}

/** Returns the arguments that an expression reads, in order. */
export function argumentsOf(e: Expr): readonly number[] {
  const seen = new Set<Expr>(), found = new Set<number>();
  const visit = (e: Expr): void => {
    if (seen.has(e)) return;
    seen.add(e);
    if (e.op === "arg") found.add(e.value!);
    e.args.forEach(visit);
  };
  visit(e);
  return [...found].sort((a, b) => a - b);
}

/** Replacements of arguments that apply only to operands of some primitives. */
export interface ReplacedAt {
  readonly at: ReadonlySet<ScalarOp>;
  readonly by: readonly Expr[];
}

/**
 * Replaces the arguments of an expression, by which a fuser joins ops. Shared nodes stay shared; pass one `memo` for
 * all expressions of one op.
 */
export function substitute(
  e: Expr,
  args: readonly Expr[],
  memo: Map<Expr, Expr> = new Map(),
  others?: ReplacedAt,
): Expr {
  if (e.op === "arg") {
    const a = args[e.value!];
    if (a === undefined) {
      throw new ValueError(
        `Cannot substitute argument ${e.value}: ${args.length} expressions given`,
      );
    }
    return a;
  }
  if (e.args.length === 0) return e;
  let r = memo.get(e);
  if (!r) {
    const own = others?.at.has(e.op) ? others.by : args;
    const operands = e.args.map((a) => substitute(a, a.op === "arg" ? own : args, memo, others));
    memo.set(e, r = { ...e, args: operands });
  }
  return r;
}
