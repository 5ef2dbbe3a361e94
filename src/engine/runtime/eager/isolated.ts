/** Runs eager code isolated from its caller's scopes. */
import { interpreter, type Recorder, recorders as recordersInForce } from "../../core/apply.ts";
import { scope } from "../../core/scope_context.ts";
import { OUTSIDE, type Owned, scopes } from "./scopes.ts";

/** The scopes around isolated code. */
export interface Surroundings {
  /** Name of the device. Default: no request. */
  readonly device?: string | null;
  /** Recorders of its ops. Default: none. */
  readonly recorders?: readonly Recorder[];
  /** The list that its tensors are added to. Default: they belong to the code itself. */
  readonly owned?: Owned[] | null;
}

const NONE: readonly Recorder[] = [];

/** Runs code eagerly in these scopes and none of its caller's. */
export function isolated<R>(
  { device = null, recorders = NONE, owned = null }: Surroundings,
  fn: () => R,
): R {
  const outer = scope.current, isSame = outer.device === device && outer.opName === null;
  const interpreting = interpreter.enter(null), told = recordersInForce.enter(recorders);
  const owners = scopes.enter(owned === null ? OUTSIDE : [owned]);
  if (!isSame) scope.current = { ...outer, device, opName: null };
  try {
    return fn();
  } finally {
    interpreter.current = interpreting;
    recordersInForce.current = told;
    scopes.current = owners;
    scope.current = outer;
  }
}
