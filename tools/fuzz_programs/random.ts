/**
 * Numbers that a seed decides.
 *
 * @module
 */

/** Draws numbers; equal seeds draw equal ones. */
export class Random {
  #state: number;

  /** A sequence for a seed. */
  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** A number from 0 to 1. */
  number(): number {
    this.#state = (this.#state + 0x6D2B79F5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  /** A whole number below `n`. */
  below(n: number): number {
    return Math.floor(this.number() * n);
  }
  /** True with a probability. */
  chance(probability: number): boolean {
    return this.number() < probability;
  }
  /** One of a list. */
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}
