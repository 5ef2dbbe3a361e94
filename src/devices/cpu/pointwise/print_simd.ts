/**
 * Prints scalar expressions as vector code: four float32, int32, uint32 or bool (as masks) at a time. Means what
 * `core/scalar/js.ts` means.
 */
import { type DType, isInteger } from "../../../core/dtype.ts";
import { type Expr, exprType, operandType, type ScalarOp } from "../../../core/scalar/expr.ts";
import { f32x4, f64x2, i32, i32x4 } from "../wasm/instructions.ts";
import { logistic } from "../wasm/lane_math.ts";
import type { ModuleBuilder } from "../wasm/module_builder.ts";
import type { F4, HostImports, I4, Simd } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";
import { pow, TRIG_LIMIT } from "../wasm/wide_math.ts";
import { LANE, TRIG, WIDE } from "./lane_functions.ts";
import { printBool, printInt } from "./print_simd_int.ts";

/** Four elements: floats, integers, or masks. */
export type Lanes = Value<"f32x4"> | Value<"i32x4">;

/** The dtypes that vector code computes. */
export const SIMD_DTYPES: ReadonlySet<DType> = new Set(["float32", "int32", "uint32", "bool"]);

const COMPARE = new Set<ScalarOp>(["lt", "le", "gt", "ge", "eq", "ne"]);
/** Of floats and of whole numbers. */
const NUMBER: readonly ScalarOp[] = [
  "add",
  "sub",
  "mul",
  "div",
  "floordiv",
  "floormod",
  "truncmod",
  "min",
  "max",
  "neg",
  "abs",
  "sign",
  "floor",
  "ceil",
  "round",
  "trunc",
  "isnan",
  "isinf",
  "isfinite",
  "real",
  "conj",
];
const FLOAT = new Set<ScalarOp>([
  ...NUMBER,
  "sqrt",
  "rsqrt",
  "pow",
  ...Object.keys(LANE) as ScalarOp[],
  ...Object.keys(WIDE) as ScalarOp[],
  ...Object.keys(TRIG) as ScalarOp[],
]);
const INT = new Set<ScalarOp>([...NUMBER, "bitand", "bitor", "bitxor", "bitnot", "shl", "shr"]);
const BOOL = new Set<ScalarOp>([
  "and",
  "or",
  "xor",
  "not",
  "min",
  "max",
  "add",
  "mul",
  "isnan",
  "isinf",
  "isfinite",
]);
/** JavaScript functions that rare elements need, per scalar op. */
const HOST: Partial<Record<ScalarOp, string>> = {
  sin: "sin",
  cos: "cos",
  tan: "tan",
  floormod: "fmod",
  truncmod: "fmod",
};

/** True where every part of the expressions has vector code. */
export function simdPrints(exprs: readonly Expr[], dtypes: readonly DType[]): boolean {
  if (!dtypes.every((t) => SIMD_DTYPES.has(t))) return false;
  const visit = (e: Expr, hint: DType): boolean => {
    if (e.op === "arg") return true;
    if (e.op === "const") return SIMD_DTYPES.has(hint);
    if (e.op === "keep") return visit(e.args[0], hint);
    const operands = e.op === "select" ? e.args.slice(1) : e.args;
    const type = operandType(operands, dtypes, e.op === "cast" ? undefined : hint);
    if (!SIMD_DTYPES.has(type) || !operands.every((o) => visit(o, type))) return false;
    if (e.op === "select") return visit(e.args[0], "bool");
    if (e.op === "cast") return castPrints(type, e.dtype!);
    if (e.op === "not" || e.op === "and" || e.op === "or" || e.op === "xor") return type === "bool";
    if (COMPARE.has(e.op)) return true;
    return (type === "float32" ? FLOAT : type === "bool" ? BOOL : INT).has(e.op);
  };
  return exprs.every((e) => SIMD_DTYPES.has(exprType(e, dtypes)) && visit(e, exprType(e, dtypes)));
}

function castPrints(from: DType, to: DType): boolean {
  return SIMD_DTYPES.has(to) && !(to === "uint32" && from === "float32");
}

/** Declares the JavaScript functions that these expressions may call; before the functions of the module. */
export function importHosts(m: ModuleBuilder, exprs: readonly Expr[]): HostImports {
  const names = new Set<string>();
  const visit = (e: Expr): void => {
    const name = HOST[e.op];
    if (name) names.add(name);
    e.args.forEach(visit);
  };
  exprs.forEach(visit);
  return new Map(
    [...names].map((n) => [n, m.import(n, n === "fmod" ? ["f64", "f64"] : ["f64"], "f64")]),
  );
}

/** Prints expressions over `args[i]`, four elements of argument i; the results are variables. */
export function printSimd(
  s: Simd,
  exprs: readonly Expr[],
  dtypes: readonly DType[],
  args: readonly Lanes[],
): Lanes[] {
  return printSimdGroup(s, exprs, dtypes, args.map((a) => [a]), 1).map(([r]) => r);
}

/** Prints expressions over `args[i][u]`, for `count` times four elements side by side: the results by expression. */
export function printSimdGroup(
  s: Simd,
  exprs: readonly Expr[],
  dtypes: readonly DType[],
  args: readonly (readonly Lanes[])[],
  count: number,
): (readonly Lanes[])[] {
  const each = Array.from({ length: count }, (_, u) => u);
  const memo = new Map<Expr, Map<DType, Lanes[]>>();
  const print = (e: Expr, hint: DType): readonly Lanes[] => {
    if (e.op === "keep") return print(e.args[0], hint);
    let byHint = memo.get(e);
    if (!byHint) memo.set(e, byHint = new Map());
    const known = byHint.get(hint);
    if (known) return known;
    const printed = printNode(e, hint).map((x) => nameLanes(s, x));
    byHint.set(hint, printed);
    return printed;
  };
  const printNode = (e: Expr, hint: DType): readonly Lanes[] => {
    if (e.op === "arg") return args[e.value!];
    if (e.op === "const") return each.map(() => printConst(s, e.value!, hint));
    const operands = e.op === "select" ? e.args.slice(1) : e.args;
    const type = operandType(operands, dtypes, e.op === "cast" ? undefined : hint);
    const power = type === "float32" ? logisticPower(e) : null;
    if (power) return print(power, type).map((x) => logistic(s, x as F4));
    const printed = operands.map((o) => print(o, type));
    const bound = boundOf(e);
    if (bound && (type === "float32" || isInteger(type))) {
      return each.map((u) => printBound(bound, printed.map((lanes) => lanes[u]), type));
    }
    const mask = e.op === "select" ? print(e.args[0], "bool") : [];
    return each.map((u) => {
      const x = printed.map((lanes) => lanes[u]);
      if (e.op === "cast") return printCast(s, x[0], type, e.dtype!);
      if (e.op === "select") {
        return type === "float32"
          ? f32x4.select(x[0] as F4, x[1] as F4, mask[u])
          : i32x4.select(x[0] as I4, x[1] as I4, mask[u]);
      }
      if (type === "float32") return printFloat(s, e, x as F4[]);
      if (type === "bool") return printBool(s, e.op, x as I4[]);
      return printInt(s, e, x as I4[], type === "int32");
    });
  };
  return exprs.map((e) => print(e, exprType(e, dtypes)));
}

/** x where the expression is `1 / (1 + eˣ)`, else null. */
function logisticPower(e: Expr): Expr | null {
  if (e.op !== "div" || numberOf(e.args[0]) !== 1 || e.args[1].op !== "add") return null;
  const [one, power] = e.args[1].args;
  return numberOf(one) === 1 && power.op === "exp" ? power.args[0] : null;
}

/** "max" where the expression is `x < b ? b : x`, "min" where it is `b < x ? b : x`, else null. */
function boundOf(e: Expr): "min" | "max" | null {
  if (e.op !== "select") return null;
  const [cond, b, x] = e.args;
  if (cond.op !== "lt" && cond.op !== "gt") return null;
  const [less, more] = cond.op === "lt" ? cond.args : [cond.args[1], cond.args[0]];
  if (isSame(less, x) && isSame(more, b)) return "max";
  return isSame(less, b) && isSame(more, x) ? "min" : null;
}

function isSame(a: Expr, b: Expr): boolean {
  return a === b || (a.op === "const" && b.op === "const" && Object.is(a.value, b.value));
}

/** One instruction has the meaning of such a choice, NaN and zeros of either sign included. */
function printBound(bound: "min" | "max", [b, x]: Lanes[], type: DType): Lanes {
  if (type === "float32") return f32x4[`p${bound}`](x as F4, b as F4);
  return type === "int32" ? i32x4[bound](x as I4, b as I4) : i32x4[`${bound}U`](x as I4, b as I4);
}

function nameLanes(s: Simd, x: Lanes): Lanes {
  return x.type === "f32x4" ? s.f.let(x) : s.f.let(x as I4);
}

function printConst(s: Simd, value: number, type: DType): Lanes {
  if (type === "float32") return s.k(value);
  return s.i(type === "bool" ? (value ? -1 : 0) : value | 0);
}

function printCast(s: Simd, x: Lanes, from: DType, to: DType): Lanes {
  if (from === to) return x;
  if (to === "float32") {
    if (from === "bool") return f32x4.and(f32x4.ofBits(x), s.k(1));
    return from === "int32" ? f32x4.ofI32(x as I4) : f32x4.ofU32(x as I4);
  }
  if (to === "bool") {
    return from === "float32" ? f32x4.ne(x as F4, s.k(0)) : i32x4.ne(x as I4, s.i(0));
  }
  if (from === "float32") return i32x4.ofF32(x as F4);
  return from === "bool" ? i32x4.and(x as I4, s.i(1)) : x;
}

function numberOf(e: Expr): number | undefined {
  return e.op === "const" ? e.value : undefined;
}

function printFloat(s: Simd, e: Expr, [a, b]: F4[]): Lanes {
  const { f } = s;
  switch (e.op) {
    case "add":
    case "sub":
    case "mul":
    case "div":
    case "lt":
    case "gt":
    case "le":
    case "ge":
    case "eq":
    case "ne":
      return f32x4[e.op](a, b);
    case "min":
    case "max": {
      const first = numberOf(e.args[0]), c = first ?? numberOf(e.args[1]);
      const x = first === undefined ? a : b;
      if (c === undefined || Number.isNaN(c) || Object.is(c, -0)) return f32x4[e.op](a, b);
      // Against a number one instruction will do, which hands on a NaN in its first operand. The sum turns -0 into 0.
      if (e.op === "min") return f32x4.pmin(x, s.k(c));
      return c === 0 ? f32x4.add(f32x4.pmax(x, s.k(0)), s.k(0)) : f32x4.pmax(x, s.k(c));
    }
    case "neg":
      return f32x4.xor(a, s.k(-0));
    case "abs":
      return s.abs(a);
    case "floor":
    case "ceil":
    case "trunc":
    case "sqrt":
      return f32x4[e.op](a);
    case "round":
      return f32x4.nearest(a);
    case "real":
    case "conj":
      return a;
    case "rsqrt":
      return f32x4.div(s.k(1), f32x4.sqrt(a));
    case "sign": {
      const one = s.copySign(s.k(1), a);
      // 0 and NaN are their own signs.
      return f32x4.select(one, a, f32x4.gt(s.abs(a), s.k(0)));
    }
    case "floordiv":
      return f32x4.floor(f32x4.div(a, b));
    case "truncmod":
    case "floormod":
      return printFloatMod(s, a, b, e.op === "floormod");
    case "isnan":
      return f32x4.ne(a, a);
    case "isinf":
      return f32x4.eq(s.abs(a), s.k(Infinity));
    case "isfinite":
      return f32x4.lt(s.abs(a), s.k(Infinity));
    case "pow": {
      const exponent = e.args[1].op === "const" ? e.args[1].value : undefined;
      if (exponent === 1) return a;
      return exponent === 2 ? f32x4.mul(a, a) : pow(s, a, b);
    }
  }
  const trig = TRIG[e.op];
  if (trig) {
    const r = s.wide([a], (x) => trig(s, x));
    const far = f.let(f32x4.gt(s.abs(a), s.k(TRIG_LIMIT)));
    return s.rareHost(r, far, HOST[e.op]!, [a], i32.anyTrue);
  }
  const inLanes = LANE[e.op];
  if (inLanes) return e.args.length === 1 ? inLanes(s, a) : inLanes(s, a, b);
  const fn = WIDE[e.op];
  if (!fn) throw new Error(`Cannot print scalar ${e.op} of float32 as vector code`);
  return s.wide(e.args.length === 1 ? [a] : [a, b], (...x) => fn(s, ...x));
}

/** Remainders through f64, exact while the quotient has at most 29 bits. */
function printFloatMod(s: Simd, a: F4, b: F4, floored: boolean): F4 {
  const { f } = s;
  const limit = 2 ** 29;
  const near = s.wide([a, b], (x, y) => {
    const q = f.let(f64x2.trunc(f64x2.div(x, y)));
    const r = f.let(f64x2.sub(x, f64x2.mul(q, y)));
    // The rounded quotient may be one too large, which turns the sign; and 0 · ∞ is not wanted.
    const turned = f64x2.lt(f64x2.mul(r, x), s.d(0));
    const back = f64x2.add(r, s.copySign64(f.let(f64x2.abs(y)), x));
    const settled = f.let(f64x2.select(x, f64x2.select(back, r, turned), f64x2.eq(q, s.d(0))));
    return s.copySign64(f64x2.abs(settled), x);
  });
  const quotient = s.abs(f32x4.div(a, b));
  const far = f.let(f32x4.ge(quotient, s.k(limit)));
  const r = s.rareHost(near, far, "fmod", [a, b], i32.anyTrue);
  if (!floored) return r;
  const apart = f32x4.ofBits(f32x4.ne(r, s.k(0)));
  const unlike = f32x4.xor(f32x4.ofBits(f32x4.lt(r, s.k(0))), f32x4.ofBits(f32x4.lt(b, s.k(0))));
  return f32x4.select(f32x4.add(r, b), r, f32x4.and(apart, unlike));
}
