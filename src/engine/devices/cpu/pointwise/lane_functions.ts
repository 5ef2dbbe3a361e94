/** Functions of float32 that vector code calls, and the cost of expressions of them. */
import type { Expr, ScalarOp } from "../../../core/scalar/expr.ts";
import { acos, asin, atan, atan2 } from "../wasm/lane_arcs.ts";
import { erf, exp, expm1, log, log1p, tanh } from "../wasm/lane_math.ts";
import type { D2, F4, Simd } from "../wasm/simd.ts";
import { acosh, asinh, atanh, cos, cosh, sin, sinh, tan } from "../wasm/wide_math.ts";

type Functions<V> = Partial<Record<ScalarOp, (s: Simd, ...x: V[]) => V>>;

/** Functions computed in f32. */
export const LANE: Functions<F4> = { exp, expm1, log, log1p, tanh, erf, asin, acos, atan, atan2 };
/** Functions computed through f64. */
export const WIDE: Functions<D2> = { sinh, cosh, asinh, acosh, atanh };
/** Functions computed through f64 up to a limit, and by JavaScript beyond. */
export const TRIG: Functions<D2> = { sin, cos, tan };
/** Vector instructions of a function in f32, roughly, and through f64; most wait for the one before. */
const LANE_WEIGHT = 25, WIDE_WEIGHT = 100;

/** Most instructions of an expression that is unrolled, except for long chains. */
const LIGHT = 12;

/** True where expressions are cheap enough to be unrolled. */
export function isLight(exprs: readonly Expr[]): boolean {
  return simdWeight(exprs) <= LIGHT;
}

/** Returns the cost of expressions, in vector instructions, roughly. */
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

/** True where the expressions are such long chains that several elements should be computed side by side. */
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
