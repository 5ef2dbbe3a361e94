/** Computes a symbolic tensor while its graph is being built, for initial values of variables. */
import type { Tensor } from "../../core/tensor.ts";
import { OpError, ValueError } from "../../core/errors.ts";
import { buildIr } from "../../graph/ir.ts";
import type { SymbolicTensor } from "../../graph/operation.ts";
import { execute } from "../plan/execute.ts";
import type { RunValue } from "../run/run_value.ts";
import { makePlan } from "../plan/make_plan.ts";
import { RunContext } from "../run/run_context.ts";
import { EagerTensor } from "../eager/tensor.ts";

/** Returns the value of `t` now. Throws `ValueError` if it depends on a placeholder or must be awaited. */
export function evaluateNow(t: Tensor, what: string): RunValue {
  const fail = (why: string): ValueError => new ValueError(`Cannot ${what} with ${t}: ${why}`);
  const plan = makePlan(buildIr({ fetches: [t as SymbolicTensor], targets: [], feeds: [] }));
  let out: RunValue[] | Promise<RunValue[]>;
  try {
    out = execute(plan, [], new RunContext());
  } catch (e) {
    if (!(e instanceof OpError)) throw e;
    throw fail(e.message);
  }
  if (out instanceof Promise) {
    out.then((late) => late.forEach((v) => v instanceof EagerTensor && v.dispose()), () => {});
    throw fail("it must be awaited");
  }
  return out[0];
}
