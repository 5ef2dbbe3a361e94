/**
 * The signal of a call in a worker. It aborts by a message, which a body hears when it awaits; where memory can be shared, one that
 * computes sees it too, when it looks at `aborted`.
 */

/** What tells the calls of one worker that they are not wanted any more. */
export class AbortFlag {
  /** Holds the number of the call that is not wanted. */
  readonly #word: Int32Array | null;
  #current: { readonly id: number; readonly controller: AbortController } | null = null;

  /** `word` is memory shared with who aborts; null where there can be none. */
  constructor(word: Int32Array | null) {
    this.#word = word;
  }

  /** The signal of a call; `tell` is called when it is made. */
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

  /** The call is not wanted any more. */
  abort(reason: unknown): void {
    this.#current?.controller.abort(reason);
  }
}
