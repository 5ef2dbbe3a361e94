/**
 * Promises where none can be used: tracing, tidy and gradients are synchronous.
 * May import nothing.
 */

/** Whether a value is a promise, of whatever make. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return (typeof value === "object" || typeof value === "function") && value !== null &&
    typeof (value as { then?: unknown }).then === "function";
}

/**
 * Throws `TypeError` where a function returned a promise. Nobody will look at that one any more, so what it may be rejected with
 * must not end the process: the caller hears of the mistake that came first.
 */
export function refusePromise(value: unknown, why: () => string): void {
  if (!isPromise(value)) return;
  value.then(undefined, () => {});
  throw new TypeError(why());
}
