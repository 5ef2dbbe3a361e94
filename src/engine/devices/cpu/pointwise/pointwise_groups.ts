/** Ops of several loops: the same expressions for each member of a group, or sums of more terms than one loop takes. */
import type { Problem } from "../../../core/op.ts";
import type { Expr } from "../../../core/scalar/expr.ts";
import { sumOf, termLists } from "../../../kernels/host/pointwise.ts";
import { isShort } from "../../../core/dtype.ts";
import type { Engine } from "../engine.ts";
import type { FastPrepare, FastRun } from "../fast.ts";
import { preparePointwise } from "./pointwise.ts";

/** Applies the same expressions to each member: shared scalars, then the member's arrays. */
export function prepareMembers(
  engine: Engine,
  { inputs, outputs }: Problem,
  { exprs, scalars, arrays }: {
    readonly exprs: readonly Expr[];
    readonly scalars: number;
    readonly arrays: number;
  },
): FastRun | null {
  const each: FastRun[] = [];
  for (let m = 0; m * exprs.length < outputs.length; m++) {
    const first = scalars + m * arrays, out = m * exprs.length;
    const own = <T>(all: readonly T[]): T[] => [
      ...all.slice(0, scalars),
      ...all.slice(first, first + arrays),
    ];
    const run = preparePointwise(engine, exprs, own(inputs), outputs[out].shape);
    if (run === null) return null;
    each.push((outs, ins) => run(outs.slice(out, out + exprs.length), own(ins)));
  }
  return (outs, ins) => each.forEach((run) => run(outs, ins));
}

export const prepareSum: FastPrepare = (engine, { inputs, outputs }) => {
  const parts: FastRun[] = [], lists = termLists(inputs.length);
  // A sum in parts would round after each.
  if (lists.length > 1 && isShort(outputs[0].dtype)) return null;
  for (const { from, to } of lists) {
    const before = from === 0 ? [] : outputs;
    const terms = [...before, ...inputs.slice(from, to)];
    const run = preparePointwise(engine, [sumOf(terms.length)], terms, outputs[0].shape);
    if (run === null) return null;
    if (terms.length === inputs.length) return run;
    parts.push((outs, ins) =>
      run(outs, from === 0 ? ins.slice(0, to) : [...outs, ...ins.slice(from, to)])
    );
  }
  return (outs, ins) => parts.forEach((run) => run(outs, ins));
};
