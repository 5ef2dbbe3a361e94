/** Bytes that many readers hold together, bounded. */
export class ByteBudget {
  readonly #most: number;
  readonly #refusal: (most: number) => Error;
  #held = 0;

  /** `refusal` makes the error for bytes beyond `most`. */
  constructor(most: number, refusal: (most: number) => Error) {
    this.#most = most;
    this.#refusal = refusal;
  }

  /** Takes room for bytes. Throws the refusal where there is none. */
  take(bytes: number): void {
    if (this.#held + bytes > this.#most) throw this.#refusal(this.#most);
    this.#held += bytes;
  }

  /** Gives room back. */
  release(bytes: number): void {
    this.#held -= bytes;
  }
}
