/**
 * Scopes that apply to eager and graph building alike: the device asked for and the name prefix.
 */

/** What surrounds the code that builds or runs ops. */
export interface ScopeContext {
  /** Device asked for by `device()`, canonical or partial; null where none is. */
  readonly device: string | null;
  /** Name asked for the next op that a graph adds; null where it takes its type's name. */
  readonly opName: string | null;
  /** What the code is part of, which errors say of the ops that it adds to a graph: `the vjp of 'score'`; null for nothing. */
  readonly within: string | null;
}

let context: ScopeContext = { device: null, opName: null, within: null };

/** The scopes in force. */
export function currentScope(): ScopeContext {
  return context;
}

/** Runs `fn` inside changed scopes. */
export function withScope<R>(change: Partial<ScopeContext>, fn: () => R): R {
  const before = context;
  const { device = before.device, opName = before.opName, within = before.within } = change;
  context = { device, opName, within };
  try {
    return fn();
  } finally {
    context = before;
  }
}
