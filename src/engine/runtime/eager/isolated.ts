/** Runs eager code isolated from its caller's scopes. */
import { type Recorder, withInterpreter, withRecorders } from "../../core/apply.ts";
import { withScope } from "../../core/scope_context.ts";
import { outsideScopes } from "./scopes.ts";

/** The scopes around isolated code. */
export interface Surroundings {
  /** Name of the device. Default: no request. */
  readonly device?: string | null;
  /** Recorders of its ops. Default: none. */
  readonly recorders?: readonly Recorder[];
}

const NONE: readonly Recorder[] = [];

/** Runs code eagerly in these scopes and none of its caller's. The new tensors belong to the code itself. */
export function isolated<R>({ device = null, recorders = NONE }: Surroundings, fn: () => R): R {
  const outside = (): R => outsideScopes(fn);
  const scoped = (): R => withScope({ device, opName: null }, outside);
  return withInterpreter(null, () => withRecorders(recorders, scoped));
}
