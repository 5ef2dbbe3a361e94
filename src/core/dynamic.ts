/**
 * Dynamic: what surrounds code while it runs, such as the recorders that are told of its ops.
 */

/** A value that code finds in force. */
export class Dynamic<T> {
  /** The value now. */
  current: T;

  /** `initial`: the value where nothing surrounds the code. */
  constructor(initial: T) {
    this.current = initial;
  }

  /** Runs `fn` with another value in force. */
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
