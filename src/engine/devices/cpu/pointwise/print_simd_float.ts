/** Scalar ops on float32 as vector code. */
import type { Expr, ScalarOp } from "../../../core/scalar/expr.ts";
import { f32x4, f64x2 } from "../wasm/instructions.ts";
import type { F4, Simd } from "../wasm/simd.ts";
import { pow, TRIG_LIMIT } from "../wasm/wide_math.ts";
import { LANE, TRIG, WIDE } from "./lane_functions.ts";
import { instructions, type LanePrinter, type LanePrinters, unchanged } from "./lane_printer.ts";

const { add, sub, mul, div, lt, gt, le, ge, eq, ne } = f32x4;
const { floor, ceil, trunc, nearest, sqrt } = f32x4;

/** JavaScript functions for rare elements, per scalar op. */
export const HOST: Partial<Record<ScalarOp, string>> = {
  sin: "sin",
  cos: "cos",
  tan: "tan",
  floormod: "fmod",
  truncmod: "fmod",
};

export const FLOAT: LanePrinters<F4> = {
  ...instructions<F4>({ add, sub, mul, div, lt, gt, le, ge, eq, ne }),
  ...instructions<F4>({ floor, ceil, trunc, round: nearest, sqrt }),
  ...unchanged("real", "conj"),
  min: printBest,
  max: printBest,
  neg: (s, [a]) => f32x4.xor(a, s.k(-0)),
  abs: (s, [a]) => s.abs(a),
  rsqrt: (s, [a]) => f32x4.div(s.k(1), f32x4.sqrt(a)),
  // 0 and NaN are their own signs.
  sign: (s, [a]) => f32x4.select(s.copySign(s.k(1), a), a, f32x4.gt(s.abs(a), s.k(0))),
  floordiv: (_, [a, b]) => f32x4.floor(f32x4.div(a, b)),
  truncmod: printMod,
  floormod: printFlooredMod,
  isnan: (_, [a]) => f32x4.ne(a, a),
  isinf: (s, [a]) => f32x4.eq(s.abs(a), s.k(Infinity)),
  isfinite: (s, [a]) => f32x4.lt(s.abs(a), s.k(Infinity)),
  pow: printPower,
  ...printers(LANE, (fn) => (s, x) => fn(s, ...x)),
  ...printers(WIDE, (fn) => (s, x) => s.wide(x, (...v) => fn(s, ...v))),
  ...printers(TRIG, (fn) => (s, [a], { op }) => {
    const near = s.wide([a], (x) => fn(s, x));
    const far = s.f.let(f32x4.gt(s.abs(a), s.k(TRIG_LIMIT)));
    return s.rareHost(near, far, HOST[op]!, [a]);
  }),
};

function printers<F>(
  functions: Partial<Record<ScalarOp, F>>,
  print: (fn: F) => LanePrinter<F4>,
): LanePrinters<F4> {
  return Object.fromEntries(Object.entries(functions).map(([op, fn]) => [op, print(fn)]));
}

/** Prints a bound by a number as one instruction, which passes on a NaN in its first operand. */
function printBest(s: Simd, [a, b]: readonly F4[], { op, args }: Expr): F4 {
  const [first, second] = args.map(numberOf), c = first ?? second;
  const x = first === undefined ? a : b;
  if (c === undefined || Number.isNaN(c) || Object.is(c, -0)) {
    return op === "min" ? f32x4.min(a, b) : f32x4.max(a, b);
  }
  if (op === "min") return f32x4.pmin(x, s.k(c));
  // The sum turns -0 into 0.
  return c === 0 ? f32x4.add(f32x4.pmax(x, s.k(0)), s.k(0)) : f32x4.pmax(x, s.k(c));
}

export function numberOf(e: Expr): number | undefined {
  return e.op === "const" ? e.value : undefined;
}

function printPower(s: Simd, [a, b]: readonly F4[], e: Expr): F4 {
  const exponent = numberOf(e.args[1]);
  if (exponent === 1) return a;
  return exponent === 2 ? f32x4.mul(a, a) : pow(s, a, b);
}

/** Prints remainders through f64, exact while the quotient has at most 29 bits. */
function printMod(s: Simd, [a, b]: readonly F4[]): F4 {
  const { f } = s, limit = 2 ** 29;
  const near = s.wide([a, b], (x, y) => {
    const q = f.let(f64x2.trunc(f64x2.div(x, y)));
    const r = f.let(f64x2.sub(x, f64x2.mul(q, y)));
    // The rounded quotient may be one too large, which flips the sign; and 0 · ∞ must not occur.
    const turned = f64x2.lt(f64x2.mul(r, x), s.d(0));
    const back = f64x2.add(r, s.copySign(f.let(f64x2.abs(y)), x));
    const settled = f.let(f64x2.select(x, f64x2.select(back, r, turned), f64x2.eq(q, s.d(0))));
    return s.copySign(f64x2.abs(settled), x);
  });
  const far = f.let(f32x4.ge(s.abs(f32x4.div(a, b)), s.k(limit)));
  return s.rareHost(near, far, "fmod", [a, b]);
}

function printFlooredMod(s: Simd, [a, b]: readonly F4[]): F4 {
  const r = printMod(s, [a, b]);
  const apart = f32x4.ofBits(f32x4.ne(r, s.k(0)));
  const unlike = f32x4.xor(f32x4.ofBits(f32x4.lt(r, s.k(0))), f32x4.ofBits(f32x4.lt(b, s.k(0))));
  return f32x4.select(f32x4.add(r, b), r, f32x4.and(apart, unlike));
}
