/**
 * Integer and boolean arithmetic of scalar expressions as vector code: wrapping, exact.
 */
import { mayBeZero } from "../../../core/scalar/expr.ts";
import { f64x2, i32, i32x4 } from "../wasm/instructions.ts";
import type { I4, Simd } from "../wasm/simd.ts";
import {
  instruction,
  instructionsOf,
  type LanePrinter,
  type LanePrinters,
  same,
} from "./lane_printer.ts";

const instructions = instructionsOf<I4>();
const yes = (s: Simd): I4 => s.i(-1), no = (s: Simd): I4 => s.i(0);

/** What ops on masks are printed as. */
export const BOOL: LanePrinters<I4> = {
  and: instruction<I4>(i32x4.and),
  min: instruction<I4>(i32x4.and),
  mul: instruction<I4>(i32x4.and),
  or: instruction<I4>(i32x4.or),
  max: instruction<I4>(i32x4.or),
  add: instruction<I4>(i32x4.or),
  xor: instruction<I4>(i32x4.xor),
  ne: instruction<I4>(i32x4.xor),
  eq: (_, [a, b]) => i32x4.not(i32x4.xor(a, b)),
  not: instruction<I4>(i32x4.not),
  lt: (_, [a, b]) => i32x4.andNot(b, a),
  gt: instruction<I4>(i32x4.andNot),
  le: (_, [a, b]) => i32x4.or(b, i32x4.not(a)),
  ge: (_, [a, b]) => i32x4.or(a, i32x4.not(b)),
  isfinite: yes,
  isnan: no,
  isinf: no,
};

/** What ops on int32 are printed as. */
export const INT: LanePrinters<I4> = {
  ...instructions(i32x4, ["add", "sub", "mul", "min", "max", "neg", "abs"]),
  ...instructions(i32x4, ["lt", "gt", "le", "ge", "eq", "ne"]),
  sign: (s, [a]) => i32x4.max(i32x4.min(a, s.i(1)), s.i(-1)),
  bitand: instruction<I4>(i32x4.and),
  bitor: instruction<I4>(i32x4.or),
  bitxor: instruction<I4>(i32x4.xor),
  bitnot: instruction<I4>(i32x4.not),
  shl: shift(i32x4.shl, i32.shl),
  shr: shift(i32x4.shr, i32.shr),
  ...divisions(true),
  floor: same,
  ceil: same,
  round: same,
  trunc: same,
  real: same,
  conj: same,
  isfinite: yes,
  isnan: no,
  isinf: no,
};

/** What ops on uint32 are printed as. */
export const UINT: LanePrinters<I4> = {
  ...INT,
  lt: instruction<I4>(i32x4.ltU),
  gt: instruction<I4>(i32x4.gtU),
  le: instruction<I4>(i32x4.leU),
  ge: instruction<I4>(i32x4.geU),
  min: instruction<I4>(i32x4.minU),
  max: instruction<I4>(i32x4.maxU),
  abs: same,
  sign: (s, [a]) => i32x4.minU(a, s.i(1)),
  shr: shift(i32x4.shrU, i32.shrU),
  ...divisions(false),
};

/** Quotients and remainders. There are none by 0; -2³¹ / -1 wraps around. */
function divisions(signed: boolean): LanePrinters<I4> {
  const quotient = (floored: boolean): LanePrinter<I4> => (s, [a, b], { args: [, divisor] }) => {
    if (mayBeZero(divisor)) s.refuse(i32x4.eq(b, s.i(0)));
    return s.wideInts(a, b, signed, (x, y) => {
      const r = floored ? f64x2.floor(f64x2.div(x, y)) : f64x2.trunc(f64x2.div(x, y));
      if (!signed) return r;
      const named = s.f.let(r);
      return f64x2.select(s.d(-(2 ** 31)), named, f64x2.eq(named, s.d(2 ** 31)));
    });
  };
  const rest = (div: LanePrinter<I4>): LanePrinter<I4> => (s, [a, b], e) =>
    s.f.let(i32x4.sub(a, i32x4.mul(div(s, [a, b], e) as I4, b)));
  const [div, floordiv] = [quotient(false), quotient(true)];
  return { div, floordiv, truncmod: rest(div), floormod: rest(floordiv) };
}

/** Shifts by a count per lane; WebAssembly has only one count for all. */
function shift(all: typeof i32x4.shl, one: typeof i32.shl): LanePrinter<I4> {
  return (_, [a, b], { args: [, count] }) => {
    if (count.op === "const") return all(a, count.value! | 0);
    return [0, 1, 2, 3].reduce(
      (r, k) => i32x4.withLane(r, k, one(i32x4.lane(a, k), i32x4.lane(b, k))),
      a,
    );
  };
}
