/**
 * Later: a value that is still to come, told to who waits for it in the same turn: what can be done at once is done at once.
 */

/** A value that is still to come. */
export class Later<T> {
  #outcome: { readonly value: T } | { readonly error: unknown } | null = null;
  readonly #waiting: (() => void)[] = [];

  resolve(value: T): void {
    this.#settle({ value });
  }
  reject(error: unknown): void {
    this.#settle({ error });
  }
  #settle(outcome: { readonly value: T } | { readonly error: unknown }): void {
    if (this.#outcome !== null) return;
    this.#outcome = outcome;
    for (const tell of this.#waiting.splice(0)) tell();
  }

  /** What becomes of the value. */
  map<R>(fn: (value: T) => R): Later<R> {
    const next = new Later<R>();
    this.#whenSettled(
      () => next.resolve(fn(this.#value())),
      (error) => next.reject(error),
    );
    return next;
  }

  /** The value, or a promise of it. Throws (or rejects with) the reason why it will not come. */
  take(): T | Promise<T> {
    if (this.#outcome !== null) return this.#value();
    return new Promise((resolve, reject) =>
      this.#whenSettled(() => resolve(this.#value()), reject)
    );
  }

  /** Calls `tell` when the value has come or will not, and `fail` with what that throws. */
  #whenSettled(tell: () => void, fail: (error: unknown) => void): void {
    const pass = (): void => {
      try {
        tell();
      } catch (error) {
        fail(error);
      }
    };
    if (this.#outcome === null) this.#waiting.push(pass);
    else pass();
  }

  #value(): T {
    const outcome = this.#outcome!;
    if ("error" in outcome) throw outcome.error;
    return outcome.value;
  }
}
