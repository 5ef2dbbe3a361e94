/**
 * Runs a plan: step by step, synchronously as far as it goes.
 */
import { outputWatch } from "../eager/eager.ts";
import type { Later } from "../loops/later.ts";
import type { RunContext } from "../session/run_context.ts";
import type { RunValue } from "../session/run_value.ts";
import { type BeginOptions, type ExecuteOptions, Execution, shielded } from "./execution.ts";
import type { Plan } from "./plan.ts";
import type { Results } from "./results.ts";
import { segmentsOf } from "./segment.ts";

/**
 * Runs a plan. Returns the fetched values, each a handle of its own that the caller owns; a promise where something had to be awaited.
 * Feeds stay the caller's unless the plan was made to own them. Throws (or rejects with) the first error, located at its node, as soon as it is known: what is in flight
 * then is told through the context's signal, and what it returns later is freed.
 */
export function execute(
  plan: Plan,
  feeds: readonly RunValue[],
  context: RunContext,
  options: ExecuteOptions = {},
): RunValue[] | Promise<RunValue[]> {
  return shielded(context, () => new Execution(plan, feeds, context, options).run());
}

/** {@linkcode execute} as far as a boundary, which says when it goes on. */
export function begin(
  plan: Plan,
  feeds: readonly RunValue[],
  context: RunContext,
  options: BeginOptions,
): RunValue[] | Later<RunValue[]> {
  return shielded(context, () => new Execution(plan, feeds, context, options).begin());
}

/**
 * Runs a plan that is nothing but kernels of one device which ran before on such feeds: at once, with neither handles nor counts
 * of readers; null for any other, which {@linkcode execute} runs. Feeds stay the caller's. Throws as `execute` does.
 */
export function executeAlone(plan: Plan, feeds: readonly RunValue[]): Results | null {
  return outputWatch() === null ? segmentsOf(plan)[0]?.runAlone(feeds) ?? null : null;
}
