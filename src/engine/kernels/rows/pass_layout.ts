/**
 * How often a row is read to find what {@linkcode RowSteps} want to know of it.
 */
import type { RowSteps } from "../../core/meaning.ts";
import { argumentsOf } from "../../core/scalar/expr.ts";

/** Numbers that are found while a row is read once, by their places among all, and those that follow from them. */
export interface NumberPass {
  /** Those that elements are put together for: none waits for another. */
  readonly folds: readonly number[];
  /** Those that follow, in order. */
  readonly then: readonly number[];
}

/** The passes, where arguments from `inputs` on are numbers. */
export function numberPasses({ found }: RowSteps, inputs: number): NumberPass[] {
  const passes: { readonly folds: number[]; readonly then: number[] }[] = [];
  found.forEach(({ fold, of }, k) => {
    let pass = passes.at(-1);
    const first = pass && inputs + pass.folds[0];
    const waits = first === undefined || argumentsOf(of).some((a) => a >= first);
    if (pass === undefined || (fold !== null && waits)) passes.push(pass = { folds: [], then: [] });
    (fold === null ? pass.then : pass.folds).push(k);
  });
  return passes;
}
