/**
 * Functions of float32 that vector code is called for, and how much work expressions of them are.
 */
import type { Expr, ScalarOp } from "../../../core/scalar/expr.ts";
import * as arcs from "../wasm/lane_arcs.ts";
import * as lane from "../wasm/lane_math.ts";
import type { D2, F4, Simd } from "../wasm/simd.ts";
import * as wide from "../wasm/wide_math.ts";

/** Functions computed in f32. */
export const LANE: Partial<Record<ScalarOp, (s: Simd, ...x: F4[]) => F4>> = {
  exp: lane.exp,
  expm1: lane.expm1,
  log: lane.log,
  log1p: lane.log1p,
  tanh: lane.tanh,
  erf: lane.erf,
  asin: arcs.asin,
  acos: arcs.acos,
  atan: arcs.atan,
  atan2: arcs.atan2,
};
/** Functions computed through f64. */
export const WIDE: Partial<Record<ScalarOp, (s: Simd, ...x: D2[]) => D2>> = {
  sinh: wide.sinh,
  cosh: wide.cosh,
  asinh: wide.asinh,
  acosh: wide.acosh,
  atanh: wide.atanh,
};
/** Functions computed through f64 up to a limit, and by JavaScript beyond. */
export const TRIG: Partial<Record<ScalarOp, (s: Simd, x: D2) => D2>> = {
  sin: wide.sin,
  cos: wide.cos,
  tan: wide.tan,
};
/** Vector instructions of a function in f32, roughly, and through f64; most wait for the one before. */
const LANE_WEIGHT = 25, WIDE_WEIGHT = 100;

/** How much work an expression is, in vector instructions, roughly: light ones are unrolled. */
export function simdWeight(exprs: readonly Expr[]): number {
  const seen = new Set<Expr>();
  const visit = (e: Expr): number => {
    if (seen.has(e)) return 0;
    seen.add(e);
    const isWide = e.op === "pow" || WIDE[e.op] || TRIG[e.op];
    const own = isWide ? WIDE_WEIGHT : LANE[e.op] ? LANE_WEIGHT : e.op === "keep" ? 0 : 1;
    return e.args.reduce((n, a) => n + visit(a), own);
  };
  return exprs.reduce((n, e) => n + visit(e), 0);
}

/** Dependent instructions above which the processor does not look ahead to the next elements. */
const LONG = 48;

/** True where so much of the expressions waits for what comes before it that several elements should be computed side by side. */
export function isLongChain(exprs: readonly Expr[]): boolean {
  const depths = new Map<Expr, number>();
  const visit = (e: Expr): number => {
    let depth = depths.get(e);
    if (depth === undefined) {
      const own = LANE[e.op] ? LANE_WEIGHT : e.op === "keep" ? 0 : 1;
      depth = own + e.args.reduce((most, a) => Math.max(most, visit(a)), 0);
      depths.set(e, depth);
    }
    return depth;
  };
  const deepest = exprs.reduce((most, e) => Math.max(most, visit(e)), 0);
  return deepest > LONG && 2 * deepest > simdWeight(exprs);
}
