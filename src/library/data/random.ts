/** A small seeded generator of random integers for shuffling. */

/** Random integers from a seed (sfc32). */
export class Random {
  #a = 0x9e3779b9;
  #b = 0x243f6a88;
  #c = 0xb7e15162;
  #counter = 1;

  constructor(seed: string) {
    for (const char of seed) {
      this.#a = Math.imul(this.#a ^ char.codePointAt(0)!, 0x85ebca6b) >>> 0;
      this.#uint32();
    }
    for (let i = 0; i < 12; i++) this.#uint32();
  }

  /** The position in the sequence. */
  get state(): readonly number[] {
    return [this.#a, this.#b, this.#c, this.#counter];
  }
  set state([a, b, c, counter]: readonly number[]) {
    this.#a = a;
    this.#b = b;
    this.#c = c;
    this.#counter = counter;
  }

  #uint32(): number {
    const sum = (this.#a + this.#b + this.#counter++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** Draws a number from 0 to before 1. */
  fraction(): number {
    return this.#uint32() / 0x1_0000_0000;
  }

  /** Draws an integer from 0 to before `n`, uniformly. */
  below(n: number): number {
    const limit = 0x1_0000_0000 - (0x1_0000_0000 % n);
    let value = this.#uint32();
    while (value >= limit) value = this.#uint32();
    return value % n;
  }
}
