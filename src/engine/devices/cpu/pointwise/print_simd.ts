/**
 * Prints scalar expressions as vector code: four float32, float16 (as float32), int32, uint32 or bool (as masks) at a time.
 * The results equal those of `engine/core/scalar/js.ts`.
 */
import { type DType, isInteger } from "../../../core/dtype.ts";
import { type Expr, exprType, operandType } from "../../../core/scalar/expr.ts";
import { f32x4, i32x4 } from "../wasm/instructions.ts";
import { halfBits, ofHalves } from "../wasm/half_lanes.ts";
import { logistic } from "../wasm/lane_math.ts";
import type { ModuleBuilder } from "../wasm/module_builder.ts";
import type { F4, HostImports, I4, Simd } from "../wasm/simd.ts";
import type { LanePrinters, Lanes } from "./lane_printer.ts";
import { FLOAT, HOST, numberOf } from "./print_simd_float.ts";
import { BOOL, INT, INT8, UINT, UINT8, wrapToByte } from "./print_simd_int.ts";
import { Error } from "../../../core/throwing/builtin_errors.ts";

const PRINTERS: Partial<Record<DType, LanePrinters<never>>> = {
  float32: FLOAT,
  float16: FLOAT,
  int32: INT,
  uint32: UINT,
  int8: INT8,
  uint8: UINT8,
  bool: BOOL,
};

/** True where every part of the expressions has vector code. */
export function simdPrints(exprs: readonly Expr[], dtypes: readonly DType[]): boolean {
  if (!dtypes.every((t) => PRINTERS[t])) return false;
  const visit = (e: Expr, hint: DType): boolean => {
    if (e.op === "arg") return true;
    if (e.op === "const") return PRINTERS[hint] !== undefined;
    if (e.op === "keep") return visit(e.args[0], hint);
    const operands = e.op === "select" ? e.args.slice(1) : e.args;
    const type = operandType(operands, dtypes, e.op === "cast" ? undefined : hint);
    if (!PRINTERS[type] || !operands.every((o) => visit(o, type))) return false;
    if (e.op === "select") return visit(e.args[0], "bool");
    return e.op === "cast" ? castPrints(type, e.dtype!) : e.op in PRINTERS[type];
  };
  return exprs.every((e) => PRINTERS[exprType(e, dtypes)] && visit(e, exprType(e, dtypes)));
}

function castPrints(from: DType, to: DType): boolean {
  return PRINTERS[to] !== undefined && !(to === "uint32" && isLaneFloat(from));
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
    const power = isLaneFloat(type) ? logisticPower(e) : null;
    if (power) return print(power, type).map((x) => logistic(s, x as F4));
    const printed = operands.map((o) => print(o, type));
    const bound = boundOf(e);
    if (bound && (isLaneFloat(type) || isInteger(type))) {
      return each.map((u) => printBound(bound, printed.map((lanes) => lanes[u]), type));
    }
    const mask = e.op === "select" ? print(e.args[0], "bool") : [];
    return each.map((u) => {
      const x = printed.map((lanes) => lanes[u]);
      if (e.op === "cast") return printCast(s, x[0], type, e.dtype!);
      if (e.op === "select") {
        return isLaneFloat(type)
          ? f32x4.select(x[0] as F4, x[1] as F4, mask[u])
          : i32x4.select(x[0] as I4, x[1] as I4, mask[u]);
      }
      const print = PRINTERS[type]?.[e.op];
      if (!print) throw new Error(`Cannot print scalar ${e.op} of ${type} as vector code`);
      return print(s, x as never[], e);
    });
  };
  return exprs.map((e) => print(e, exprType(e, dtypes)));
}

/** Returns x where the expression is `1 / (1 + eˣ)`, else null. */
function logisticPower(e: Expr): Expr | null {
  if (e.op !== "div" || numberOf(e.args[0]) !== 1 || e.args[1].op !== "add") return null;
  const [one, power] = e.args[1].args;
  return numberOf(one) === 1 && power.op === "exp" ? power.args[0] : null;
}

/** Returns "max" where the expression is `x < b ? b : x`, "min" where it is `b < x ? b : x`, else null. */
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

/** Prints such a choice as one instruction, which treats NaN and signed zeros alike. */
function printBound(bound: "min" | "max", [b, x]: Lanes[], type: DType): Lanes {
  if (isLaneFloat(type)) return f32x4[`p${bound}`](x as F4, b as F4);
  return type === "uint32" ? i32x4[`${bound}U`](x as I4, b as I4) : i32x4[bound](x as I4, b as I4);
}

function nameLanes(s: Simd, x: Lanes): Lanes {
  return x.type === "f32x4" ? s.f.let(x) : s.f.let(x as I4);
}

function printConst(s: Simd, value: number, type: DType): Lanes {
  if (isLaneFloat(type)) return s.k(value);
  return s.i(type === "bool" ? (value ? -1 : 0) : value | 0);
}

function printCast(s: Simd, x: Lanes, from: DType, to: DType): Lanes {
  if (to === "float16") {
    const { f } = s, wide = printCast(s, x, from, "float32") as F4;
    return ofHalves(f, i32x4.shr(i32x4.shl(halfBits(f, wide), 16), 16));
  }
  if (from === to || isLaneFloat(from) && isLaneFloat(to)) return x;
  if (isLaneFloat(to)) {
    if (from === "bool") return f32x4.and(f32x4.ofBits(x), s.k(1));
    return from === "uint32" ? f32x4.ofU32(x as I4) : f32x4.ofI32(x as I4);
  }
  if (to === "bool") {
    return isLaneFloat(from) ? f32x4.ne(x as F4, s.k(0)) : i32x4.ne(x as I4, s.i(0));
  }
  if (to === "int8" || to === "uint8") {
    const signed = to === "int8", [low, high] = signed ? [-128, 127] : [0, 255];
    if (from === "bool") return i32x4.and(x as I4, s.i(1));
    // Floats are truncated and saturate, whole numbers wrap.
    if (!isLaneFloat(from)) return wrapToByte(s, x as I4, signed);
    return i32x4.max(i32x4.min(i32x4.ofF32(x as F4), s.i(high)), s.i(low));
  }
  if (isLaneFloat(from)) return i32x4.ofF32(x as F4);
  return from === "bool" ? i32x4.and(x as I4, s.i(1)) : x;
}

/** True for dtypes whose lanes are float32. */
function isLaneFloat(dtype: DType): boolean {
  return dtype === "float32" || dtype === "float16";
}
