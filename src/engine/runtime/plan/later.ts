/**
 * Later: a future value that is handed to its callbacks in the same turn, so that synchronous work stays synchronous.
 */
import type { OpInput } from "../../core/apply.ts";
import type { Plan } from "./plan.ts";

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

  /** Returns the future result of `fn`. */
  map<R>(fn: (value: T) => R): Later<R> {
    const next = new Later<R>();
    this.#whenSettled(
      () => next.resolve(fn(this.#value())),
      (error) => next.reject(error),
    );
    return next;
  }

  /** Returns the value, or a promise of it. Throws (or rejects with) its error. */
  take(): T | Promise<T> {
    if (this.#outcome !== null) return this.#value();
    return new Promise((resolve, reject) =>
      this.#whenSettled(() => resolve(this.#value()), reject)
    );
  }

  /** Calls `tell` when the value is settled, and `fail` with the error of `tell`. */
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

/** Feeds that come once after a run has begun: a loop's state, while independent work goes ahead. */
export class LateFeeds {
  readonly numbers: readonly number[];
  readonly #takers: ((values: readonly OpInput[]) => void)[] = [];

  /** Makes `count` late feeds from number `from` on. */
  constructor(from: number, count: number) {
    this.numbers = Array.from({ length: count }, (_, i) => from + i);
  }

  /** Registers a callback for the values; callbacks are called in the order of their registration. */
  whenSupplied(take: (values: readonly OpInput[]) => void): void {
    this.#takers.push(take);
  }
  /** Passes the values, one for each number, to the run. */
  supply(values: readonly OpInput[]): void {
    for (const take of this.#takers.splice(0)) take(values);
  }
}

/** True where a plan reads a value from a device that does not depend on these feeds. */
export function readsBeside({ feeds, steps }: Plan, { numbers }: LateFeeds): boolean {
  const late = new Set(numbers.map((i) => feeds[i])), made = new Set<number>();
  for (const { node, inputs, outputs, offGpu, device } of steps) {
    if (inputs.some((slot, i) => offGpu[i] && made.has(slot))) return true;
    const target = inputs.some((slot) => late.has(slot))
      ? late
      : device.type === "GPU" && !node.def.host
      ? made
      : null;
    for (const slot of outputs) target?.add(slot);
  }
  return false;
}
