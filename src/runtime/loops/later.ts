/**
 * Later: a value that is still to come, told to who waits for it in the same turn: what can be done at once is done at once.
 */

/** A value that is still to come. */
export class Later<T> {
  #outcome: { readonly value: T } | { readonly error: unknown } | null = null;
  readonly #waiting: (() => void)[] = [];

  /** The value has come. */
  resolve(value: T): void {
    this.#settle({ value });
  }
  /** It will not come. */
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
    const pass = (): void => {
      try {
        next.resolve(fn(this.#value()));
      } catch (error) {
        next.reject(error);
      }
    };
    if (this.#outcome === null) this.#waiting.push(pass);
    else pass();
    return next;
  }

  /** The value, or a promise of it. Throws (or rejects with) the reason why it will not come. */
  take(): T | Promise<T> {
    if (this.#outcome !== null) return this.#value();
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => {
        try {
          resolve(this.#value());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  #value(): T {
    const outcome = this.#outcome!;
    if ("error" in outcome) throw outcome.error;
    return outcome.value;
  }
}
