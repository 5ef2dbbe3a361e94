/** Ways to run a plan: to its end, as far as it goes, or at once. */
import { deferred } from "../run/timers.ts";
import { outputWatch } from "../eager/eager.ts";
import type { RunContext } from "../run/run_context.ts";
import type { RunValue } from "../run/run_value.ts";
import { type ExecuteOptions, Execution } from "./execution.ts";
import { Later } from "./later.ts";
import type { Plan } from "./plan.ts";
import { type Results, segmentsOf } from "./segment.ts";

/**
 * Runs a plan. Returns the fetched values, each a handle that the caller owns; a promise if it had to wait. Feeds stay
 * the caller's unless the plan was made to own them. Throws (or rejects with) the first error, located at its node, at
 * once: work in flight is told through the context's signal, and its results are freed.
 */
export function execute(
  plan: Plan,
  feeds: readonly RunValue[],
  context: RunContext,
  options: ExecuteOptions = {},
): RunValue[] | Promise<RunValue[]> {
  const execution = new Execution(plan, feeds, context, options);
  const out = execution.run(() => deferred<RunValue[]>());
  return Array.isArray(out) ? out : out.promise;
}

/** Starts {@linkcode execute}, to the end or to a boundary, which continues it. */
export function begin(
  plan: Plan,
  feeds: readonly RunValue[],
  context: RunContext,
  options: ExecuteOptions = {},
): RunValue[] | Later<RunValue[]> {
  return new Execution(plan, feeds, context, options).run(() => new Later<RunValue[]>());
}

/**
 * Runs a plan that is only kernels of one device and that ran before on such feeds: without handles or reader counts;
 * null for any other, which {@linkcode execute} runs. Feeds stay the caller's. Throws as `execute` does.
 */
export function executeAlone(plan: Plan, feeds: readonly RunValue[]): Results | null {
  return outputWatch() === null ? segmentsOf(plan)[0]?.runAlone(feeds) ?? null : null;
}
