/**
 * Eager code apart from the code that calls for it.
 */
import { type Recorder, withInterpreter, withRecorders } from "../../core/apply.ts";
import { withScope } from "../../core/scope_context.ts";
import { outsideScopes } from "./scopes.ts";

/** What is to be around eager code. */
export interface Surroundings {
  /** Name of its device. Default: none is asked for. */
  readonly device?: string | null;
  /** Who is told of its ops. Default: nobody. */
  readonly recorders?: readonly Recorder[];
}

const NOBODY: readonly Recorder[] = [];

/** Runs code eagerly with this around it and nothing of its caller's. Who makes what it makes owns that, unless it says otherwise. */
export function aside<R>({ device = null, recorders = NOBODY }: Surroundings, fn: () => R): R {
  const outside = (): R => outsideScopes(fn);
  const scoped = (): R => withScope({ device, opName: null }, outside);
  return withInterpreter(null, () => withRecorders(recorders, scoped));
}
