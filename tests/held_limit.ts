/** A time limit that is over when a test says so, however long the machine takes for what comes before. */

/** Holds the clock, and the timers of {@linkcode HeldLimit.ms} milliseconds, until {@linkcode HeldLimit.end}. */
export class HeldLimit implements Disposable {
  readonly ms: number;
  readonly #setTimeout = globalThis.setTimeout;
  readonly #now = performance.now.bind(performance);
  readonly #held = new Map<ReturnType<typeof setTimeout>, () => void>();
  #time: number = performance.now();

  /** `ms` as a rule is as long as no other timer. */
  constructor(ms = 87_654_321) {
    this.ms = ms;
    const set = (fn: () => void, delay?: number): ReturnType<typeof setTimeout> => {
      // Pages refuse a timer set as a method of another object.
      const start = this.#setTimeout;
      if (delay !== ms) return start(fn, delay);
      // The timer behind a held one is there to be cleared.
      const timer = start(fn, 2 ** 31 - 1);
      this.#held.set(timer, fn);
      return timer;
    };
    globalThis.setTimeout = set as unknown as typeof setTimeout;
    performance.now = () => this.#time;
  }

  /** Fires the held timers. */
  end(): void {
    this.#time += this.ms;
    for (const [timer, fn] of this.#held) {
      clearTimeout(timer);
      fn();
    }
    this.#held.clear();
  }

  [Symbol.dispose](): void {
    for (const timer of this.#held.keys()) clearTimeout(timer);
    globalThis.setTimeout = this.#setTimeout;
    performance.now = this.#now;
  }
}
