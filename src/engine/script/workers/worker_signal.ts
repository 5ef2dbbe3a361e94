/**
 * The signal of a call in a worker. It aborts by a message, which a body receives at an await; with shared memory, a
 * computing body also sees the abort when it reads `aborted`.
 */

/** Tells the calls of one worker that they are cancelled. */
export class AbortFlag {
  /** Number of the cancelled call. */
  readonly #word: Int32Array | null;
  #current: { readonly id: number; readonly controller: AbortController } | null = null;

  /** `word` is memory shared with the pool; null where memory cannot be shared. */
  constructor(word: Int32Array | null) {
    this.#word = word;
  }

  /** Makes the signal of a call and calls `tell`. */
  signalOf(id: number, tell: () => void): AbortSignal {
    if (this.#current?.id === id) return this.#current.controller.signal;
    const controller = new AbortController(), { signal } = controller;
    this.#current = { id, controller };
    tell();
    const word = this.#word;
    if (word === null) return signal;
    let isAborted = false;
    const look = (): void => {
      if (!isAborted && Atomics.load(word, 0) === id) {
        isAborted = true;
        controller.abort(new DOMException("The call was aborted", "AbortError"));
      }
    };
    const { get } = Object.getOwnPropertyDescriptor(AbortSignal.prototype, "aborted")!;
    return Object.defineProperties(signal, {
      aborted: { get: () => (look(), get!.call(signal) as boolean) },
      throwIfAborted: { value: () => (look(), AbortSignal.prototype.throwIfAborted.call(signal)) },
    });
  }

  /** Notes that the call is cancelled. */
  abort(reason: unknown): void {
    this.#current?.controller.abort(reason);
  }
}
