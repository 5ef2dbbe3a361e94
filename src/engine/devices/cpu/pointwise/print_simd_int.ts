/** Integer and boolean arithmetic of scalar expressions as vector code: wrapping, exact. */
import { mayBeZero } from "../../../core/scalar/expr.ts";
import { f64x2, i32, i32x4 } from "../wasm/instructions.ts";
import type { I4, Simd } from "../wasm/simd.ts";
import { instructions, type LanePrinter, type LanePrinters, unchanged } from "./lane_printer.ts";

const { add, sub, mul, min, max, neg, abs, lt, gt, le, ge, eq, ne } = i32x4;
const { and, andNot, or, xor, not, ltU, gtU, leU, geU, minU, maxU } = i32x4;

/** Tests that are constant for integers. */
const FINITE: LanePrinters<I4> = {
  isfinite: (s) => s.i(-1),
  isnan: (s) => s.i(0),
  isinf: (s) => s.i(0),
};

/** Printers of ops on masks. */
export const BOOL: LanePrinters<I4> = {
  ...FINITE,
  ...instructions<I4>({ and, min: and, mul: and, or, max: or, add: or, xor, ne: xor, not }),
  eq: (_, [a, b]) => not(xor(a, b)),
  lt: (_, [a, b]) => andNot(b, a),
  gt: (_, [a, b]) => andNot(a, b),
  le: (_, [a, b]) => or(b, not(a)),
  ge: (_, [a, b]) => or(a, not(b)),
};

export const INT: LanePrinters<I4> = {
  ...FINITE,
  ...instructions<I4>({ add, sub, mul, min, max, neg, abs, lt, gt, le, ge, eq, ne }),
  ...instructions<I4>({ bitand: and, bitor: or, bitxor: xor, bitnot: not }),
  ...unchanged("floor", "ceil", "round", "trunc", "real", "conj"),
  ...divisions(true),
  sign: (s, [a]) => max(min(a, s.i(1)), s.i(-1)),
  shl: shift(i32x4.shl, i32.shl),
  shr: shift(i32x4.shr, i32.shr),
};

export const UINT: LanePrinters<I4> = {
  ...INT,
  ...instructions<I4>({ lt: ltU, gt: gtU, le: leU, ge: geU, min: minU, max: maxU }),
  ...unchanged("abs"),
  ...divisions(false),
  sign: (s, [a]) => minU(a, s.i(1)),
  shr: shift(i32x4.shrU, i32.shrU),
};

/** Primitives whose results are wrapped to a byte; the others give what a byte holds. */
const WRAPPED = ["add", "sub", "mul", "neg", "abs"] as const;
const KEPT = [
  ...[
    "min",
    "max",
    "sign",
    "lt",
    "gt",
    "le",
    "ge",
    "eq",
    "ne",
    "isfinite",
    "isnan",
    "isinf",
  ] as const,
  ...["floor", "ceil", "round", "trunc", "real", "conj", "bitand", "bitor", "bitxor"] as const,
];

/** Wraps whole numbers to bytes. */
export function wrapToByte(s: Simd, x: I4, signed: boolean): I4 {
  return signed ? i32x4.shr(i32x4.shl(x, 24), 24) : i32x4.and(x, s.i(255));
}

/** Makes the printers of bytes, which are lanes of 32 bits between loads and stores. */
function byteOps(signed: boolean): LanePrinters<I4> {
  const table: LanePrinters<I4> = Object.fromEntries(KEPT.map((op) => [op, INT[op]]));
  for (const op of WRAPPED) {
    table[op] = (s, x, e) => wrapToByte(s, INT[op]!(s, x, e) as I4, signed);
  }
  return table;
}
export const INT8: LanePrinters<I4> = byteOps(true);
export const UINT8: LanePrinters<I4> = byteOps(false);

/** Makes quotients and remainders. Division by 0 is refused; -2³¹ / -1 wraps around. */
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

/** Makes shifts by a count per lane; WebAssembly has only one count for all. */
function shift(all: typeof i32x4.shl, one: typeof i32.shl): LanePrinter<I4> {
  return (_, [a, b], { args: [, count] }) => {
    if (count.op === "const") return all(a, count.value! | 0);
    return [0, 1, 2, 3].reduce(
      (r, k) => i32x4.withLane(r, k, one(i32x4.lane(a, k), i32x4.lane(b, k))),
      a,
    );
  };
}
