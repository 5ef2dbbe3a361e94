/**
 * Stands in for `@std/testing/time` on machines that reach npm but not JSR (see tools/jsr.ts).
 *
 * @module
 */

interface Timer {
  at: number;
  readonly every: number | null;
  readonly call: () => void;
}

const real = {
  Date: globalThis.Date,
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
};

let current: FakeTime | null = null;

/** Puts a clock in place of the real one: timers fire when it is told to go on. */
export class FakeTime {
  #now: number;
  readonly #timers = new Map<number, Timer>();
  #next = 1;

  /** `start`: the time it begins with; default the real one. Throws `TypeError` where time is faked already. */
  constructor(start: number | string | Date = real.Date.now()) {
    if (current !== null) throw new TypeError("Cannot construct FakeTime: time is already faked");
    current = this;
    this.#now = new real.Date(start).valueOf();
    const now = (): number => this.#now;
    const add = (every: boolean) => (call: (...args: unknown[]) => void, ms = 0, ...args: []) => {
      // As the platform's timers do, which count in 32 bits.
      const delay = Math.max(ms > 2 ** 31 - 1 ? 1 : Number(ms) || 0, 0);
      const timer = { at: now() + delay, every: every ? delay : null, call: () => call(...args) };
      this.#timers.set(this.#next, timer);
      return this.#next++;
    };
    const remove = (id?: number): void => void this.#timers.delete(id!);
    Object.assign(globalThis, {
      Date: class extends real.Date {
        constructor(...args: []) {
          super(...(args.length === 0 ? [now()] : args) as []);
        }
        static override now = now;
      },
      setTimeout: add(false),
      setInterval: add(true),
      clearTimeout: remove,
      clearInterval: remove,
    });
  }

  /** Milliseconds since 1970 on this clock. */
  get now(): number {
    return this.#now;
  }

  /** Lets time go on by `ms`, and timers fire that are due. */
  tick(ms = 0): void {
    const end = this.#now + ms;
    for (let due = this.#due(end); due !== null; due = this.#due(end)) this.#fire(due);
    this.#now = end;
  }

  /** {@linkcode FakeTime.tick} with a turn for promises before and after each timer. */
  async tickAsync(ms = 0): Promise<void> {
    const end = this.#now + ms;
    await this.runMicrotasks();
    for (let due = this.#due(end); due !== null; due = this.#due(end)) {
      this.#fire(due);
      await this.runMicrotasks();
    }
    this.#now = end;
  }

  /** Runs what promises have put off. */
  runMicrotasks(): Promise<void> {
    // Pages refuse a timer set as a method of another object.
    const { setTimeout } = real;
    return new Promise((resolve) => setTimeout(resolve, 0));
  }

  #due(end: number): number | null {
    let first: number | null = null;
    for (const [id, { at }] of this.#timers) {
      if (at <= end && (first === null || at < this.#timers.get(first)!.at)) first = id;
    }
    return first;
  }

  #fire(id: number): void {
    const timer = this.#timers.get(id)!;
    this.#now = Math.max(this.#now, timer.at);
    if (timer.every === null) this.#timers.delete(id);
    else timer.at += Math.max(timer.every, 1);
    timer.call();
  }

  /** Puts the real clock back. Throws `TypeError` where that was done already. */
  restore(): void {
    if (current !== this) throw new TypeError("Cannot restore time: it is already restored");
    current = null;
    Object.assign(globalThis, real);
  }

  /** {@linkcode FakeTime.restore}. */
  [Symbol.dispose](): void {
    this.restore();
  }
}
