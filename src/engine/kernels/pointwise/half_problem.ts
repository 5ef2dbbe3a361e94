/** Problems of float16 as problems of float32, whose results are rounded to float16 once. */
import { castArray } from "../../core/convert.ts";
import { accDType } from "../../core/dtype.ts";
import type { Attrs, Problem } from "../../core/op.ts";
import { castTo, type Expr } from "../../core/scalar/expr.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";

/** True where a kernel reads or writes float16. */
export function hasHalf({ inputs, hosts, outputs }: Problem): boolean {
  return inputs.some(({ dtype }, i) => dtype === "float16" && hosts[i] === undefined) ||
    outputs.some(({ dtype }) => dtype === "float16");
}

/** Returns the problem with float32 in place of float16. */
export function inFloat32(problem: Problem): Problem {
  if (!hasHalf(problem)) return problem;
  const wide = (s: ConcreteSpec): ConcreteSpec => ({ ...s, dtype: accDType(s.dtype) });
  return {
    inputs: problem.inputs.map(wide),
    hosts: problem.hosts.map((a) => (a?.dtype === "float16" ? castArray(a, "float32") : a)),
    outputs: problem.outputs.map(wide),
    attrs: wideAttr(problem.attrs) as Attrs,
  };
}

/** Replaces float16 among attributes, alone, in lists and in expressions. */
function wideAttr(value: unknown): unknown {
  if (value === "float16") return accDType(value);
  if (Array.isArray(value)) return value.map(wideAttr);
  if (value === null || typeof value !== "object") return value;
  // Expressions have a prototype of their own.
  if ("op" in value && "args" in value) return wideExpr(value as Expr, new Map());
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, wideAttr(v)]));
}

/** Widens an expression, whose casts to float16 still round. */
function wideExpr(e: Expr, memo: Map<Expr, Expr>): Expr {
  let wide = memo.get(e);
  if (wide === undefined) {
    const own = { ...e, args: e.args.map((a) => wideExpr(a, memo)) };
    wide = e.op === "cast" && e.dtype === "float16" ? castTo(own, "float32") : own;
    memo.set(e, wide);
  }
  return wide;
}
