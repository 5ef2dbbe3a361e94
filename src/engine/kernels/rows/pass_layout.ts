/** The number of times that a row is read for the numbers of {@linkcode RowSteps}. */
import type { RowSteps } from "../../core/meaning.ts";
import { argumentsOf } from "../../core/scalar/expr.ts";

/** Numbers that are computed in one pass over a row, by their indices, and those that follow from them. */
export interface NumberPass {
  /** Numbers that fold elements: none depends on another. */
  readonly folds: readonly number[];
  /** Numbers that follow, in order. */
  readonly then: readonly number[];
}

/** Returns the passes, where arguments from `inputs` on are numbers. */
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
