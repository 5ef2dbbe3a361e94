/**
 * Values that may have to be awaited: what is there already is used at once, as most of it is.
 */

/** What `fn` makes of a value: now where it is there, else when it comes. */
export function whenReady<T, R>(
  value: T | Promise<T>,
  fn: (value: T) => R | Promise<R>,
): R | Promise<R> {
  return value instanceof Promise ? value.then(fn) : fn(value);
}

/** What `work` gives. `end` follows when it is done, also where it fails. */
export function ending<T>(work: () => T | Promise<T>, end: () => void): T | Promise<T> {
  let result: T | Promise<T> | undefined;
  try {
    result = work();
    return result instanceof Promise ? result.finally(end) : result;
  } finally {
    if (!(result instanceof Promise)) end();
  }
}
