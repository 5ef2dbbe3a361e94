/** Expressions of an op over its inputs, made once, and how many terms they may have. */
import type { MeaningOf } from "../../core/meaning.ts";
import type { Attrs } from "../../core/op.ts";
import { argument, type Expr } from "../../core/scalar/expr.ts";

/** Terms that one GPU kernel adds up: with the result, as many buffers as WebGPU promises. */
export const MOST_TERMS = 7;

/** Makes expressions once for each set of attributes: kernels are keyed by them. */
export function boundExprs(
  exprs: MeaningOf<"pointwise">["exprs"],
): (attrs: Attrs, count: number) => readonly Expr[] {
  const made = new WeakMap<Attrs, readonly Expr[]>();
  return (attrs, count) => {
    let list = made.get(attrs);
    if (!list) {
      const args = Array.from({ length: count }, (_, i) => argument(i));
      made.set(attrs, list = exprs(args, attrs));
    }
    return list;
  };
}
