/**
 * Integer and boolean arithmetic of scalar expressions as vector code: wrapping, exact.
 */
import { type Expr, mayBeZero, type ScalarOp } from "../../../core/scalar/expr.ts";
import { f64x2, i32, i32x4 } from "../wasm/instructions.ts";
import type { I4, Simd } from "../wasm/simd.ts";

/** A primitive on masks. */
export function printBool(s: Simd, op: ScalarOp, [a, b]: I4[]): I4 {
  switch (op) {
    case "and":
    case "min":
    case "mul":
      return i32x4.and(a, b);
    case "or":
    case "max":
    case "add":
      return i32x4.or(a, b);
    case "xor":
    case "ne":
      return i32x4.xor(a, b);
    case "eq":
      return i32x4.not(i32x4.xor(a, b));
    case "not":
      return i32x4.not(a);
    case "lt":
      return i32x4.andNot(b, a);
    case "gt":
      return i32x4.andNot(a, b);
    case "le":
      return i32x4.or(b, i32x4.not(a));
    case "ge":
      return i32x4.or(a, i32x4.not(b));
    case "isfinite":
      return s.i(-1);
    default:
      return s.i(0);
  }
}

/** A primitive on int32 or uint32. */
export function printInt(s: Simd, e: Expr, [a, b]: I4[], signed: boolean): I4 {
  const { f } = s;
  switch (e.op) {
    case "add":
    case "sub":
    case "mul":
    case "eq":
    case "ne":
      return i32x4[e.op](a, b);
    case "lt":
    case "gt":
    case "le":
    case "ge":
      return signed ? i32x4[e.op](a, b) : i32x4[`${e.op}U`](a, b);
    case "min":
    case "max":
      return signed ? i32x4[e.op](a, b) : i32x4[`${e.op}U`](a, b);
    case "neg":
      return i32x4.neg(a);
    case "abs":
      return signed ? i32x4.abs(a) : a;
    case "sign":
      return signed ? i32x4.max(i32x4.min(a, s.i(1)), s.i(-1)) : i32x4.minU(a, s.i(1));
    case "bitand":
      return i32x4.and(a, b);
    case "bitor":
      return i32x4.or(a, b);
    case "bitxor":
      return i32x4.xor(a, b);
    case "bitnot":
      return i32x4.not(a);
    case "shl":
    case "shr":
      return printShift(e, a, b, signed);
    case "div":
    case "floordiv":
      return printDivision(s, e, [a, b], signed, e.op === "floordiv");
    case "truncmod":
    case "floormod": {
      const q = printDivision(s, e, [a, b], signed, e.op === "floormod");
      return f.let(i32x4.sub(a, i32x4.mul(q, b)));
    }
    case "isfinite":
      return s.i(-1);
    case "isnan":
    case "isinf":
      return s.i(0);
    default:
      return a;
  }
}

/** Division, which there is none of by 0. -2³¹ / -1 wraps around. */
function printDivision(s: Simd, e: Expr, [a, b]: I4[], signed: boolean, floored: boolean): I4 {
  if (mayBeZero(e.args[1])) s.refuse(i32x4.eq(b, s.i(0)));
  return s.wideInts(a, b, signed, (x, y) => {
    const r = floored ? f64x2.floor(f64x2.div(x, y)) : f64x2.trunc(f64x2.div(x, y));
    if (!signed) return r;
    const named = s.f.let(r);
    return f64x2.select(s.d(-(2 ** 31)), named, f64x2.eq(named, s.d(2 ** 31)));
  });
}

/** Shifts by a count per lane; WebAssembly has only one count for all. */
function printShift(e: Expr, a: I4, b: I4, signed: boolean): I4 {
  const count = e.args[1];
  const left = e.op === "shl";
  if (count.op === "const") {
    return (left ? i32x4.shl : signed ? i32x4.shr : i32x4.shrU)(a, count.value! | 0);
  }
  const one = left ? i32.shl : signed ? i32.shr : i32.shrU;
  let r = a;
  for (let k = 0; k < 4; k++) r = i32x4.withLane(r, k, one(i32x4.lane(a, k), i32x4.lane(b, k)));
  return r;
}
