/**
 * What is around the code of plans: nothing of their callers.
 */
import { withInterpreter, withRecorders } from "../../core/apply.ts";
import { withScope } from "../../core/scope_context.ts";
import { outsideScopes } from "../eager/tensor.ts";
import type { RunContext } from "../session/run_context.ts";

/** Runs code of a plan with nothing of the caller's around it: eagerly, outside scopes and tapes. */
export function shielded<R>({ counter }: RunContext, fn: () => R): R {
  return counter === null ? alone(fn) : counter.within(() => alone(fn));
}
function alone<R>(fn: () => R): R {
  return withInterpreter(
    null,
    () => withRecorders([], () => withScope(NO_SCOPE, () => outsideScopes(fn))),
  );
}
const NO_SCOPE = { device: null, opName: null };
