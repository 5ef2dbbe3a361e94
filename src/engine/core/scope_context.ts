/**
 * Dynamic context of running code: values in force, and the scopes that apply to eager and graph building alike, the
 * requested device and the name prefix.
 */

/** A dynamically scoped value. */
export class Dynamic<T> {
  current: T;

  /** `initial`: the value outside of any scope. */
  constructor(initial: T) {
    this.current = initial;
  }

  within<R>(value: T, fn: () => R): R {
    const before = this.enter(value);
    try {
      return fn();
    } finally {
      this.current = before;
    }
  }

  /** Sets the value and returns the one before, for a `finally` of the caller to set again: it costs less than a callback. */
  enter(value: T): T {
    const before = this.current;
    this.current = value;
    return before;
  }
}

/** The scopes of code that builds or runs ops. */
export interface ScopeContext {
  /** Device of `device()`, canonical or partial; null where there is none. */
  readonly device: string | null;
  /** Name for the next op of a graph; null for its type's name. */
  readonly opName: string | null;
  /**
   * The surrounding function, which errors name for the ops that it adds to a graph: `the vjp of 'score'`; null for
   * none.
   */
  readonly within: string | null;
  /** Stack of the code that asked for the backward pass which runs; null outside of any. */
  readonly asked: Error | null;
  /** Stack of the code that all ops of a graph come from here, such as a file's; null where each has its own. */
  readonly site: Error | null;
}

/** The scopes in force. */
export const scope: Dynamic<ScopeContext> = new Dynamic({
  device: null,
  opName: null,
  within: null,
  asked: null,
  site: null,
});

export function currentScope(): ScopeContext {
  return scope.current;
}

export function withScope<R>(change: Partial<ScopeContext>, fn: () => R): R {
  const before = scope.current;
  const { device = before.device, opName = before.opName, within = before.within } = change;
  const { asked = before.asked, site = before.site } = change;
  return scope.within({ device, opName, within, asked, site }, fn);
}
