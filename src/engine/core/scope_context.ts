/**
 * What surrounds code while it runs: values in force, and the scopes that apply to eager and graph building alike, the device asked for
 * and the name prefix.
 */

/** A value that code finds in force. */
export class Dynamic<T> {
  current: T;

  /** `initial`: the value where nothing surrounds the code. */
  constructor(initial: T) {
    this.current = initial;
  }

  within<R>(value: T, fn: () => R): R {
    const before = this.current;
    this.current = value;
    try {
      return fn();
    } finally {
      this.current = before;
    }
  }
}

/** What surrounds the code that builds or runs ops. */
export interface ScopeContext {
  /** Device asked for by `device()`, canonical or partial; null where none is. */
  readonly device: string | null;
  /** Name asked for the next op that a graph adds; null where it takes its type's name. */
  readonly opName: string | null;
  /** What the code is part of, which errors say of the ops that it adds to a graph: `the vjp of 'score'`; null for nothing. */
  readonly within: string | null;
}

const scope = new Dynamic<ScopeContext>({ device: null, opName: null, within: null });

export function currentScope(): ScopeContext {
  return scope.current;
}

export function withScope<R>(change: Partial<ScopeContext>, fn: () => R): R {
  const before = scope.current;
  const { device = before.device, opName = before.opName, within = before.within } = change;
  return scope.within({ device, opName, within }, fn);
}
