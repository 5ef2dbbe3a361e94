/** deferred: a promise with the functions that settle it. */

/** A promise that others settle. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T | PromiseLike<T>) => void;
  readonly reject: (reason?: unknown) => void;
}

/** Makes a promise to settle later. `Promise.withResolvers` does the same, which Node 20 does not have. */
export function deferred<T>(): Deferred<T> {
  let resolve!: Deferred<T>["resolve"], reject!: Deferred<T>["reject"];
  const promise = new Promise<T>((a, b) => [resolve, reject] = [a, b]);
  return { promise, resolve, reject };
}
