/** Chooses among kernels for the same work: remembers the fastest, and measures on request. */
import type { Candidates, GpuPlan, KernelChooser } from "../../core/dispatch.ts";

export interface Trial {
  /** Runs a plan and waits for its end. */
  run(plan: GpuPlan): void;
  end(): void;
}

/** Makes buffers for candidates; null where the device cannot be awaited synchronously. */
type Begin = (candidates: Candidates) => Trial | null;

/**
 * Multiplications and additions below which the first candidate is taken: about a millisecond of a processor's work.
 */
const LARGE = 2 ** 24;
const MOST = 4;
/** Timings of each candidate, of which the least counts: other load only adds. */
const ROUNDS = 3;

/** Chooses kernels by the names of the fastest candidates of their keys. */
export class Tuner implements KernelChooser {
  /** True: candidates of a new key are timed when they are first met. */
  timing = false;
  readonly #begin: Begin;
  readonly #clock: () => number;
  readonly #fastest = new Map<string, string>();

  /** `clock` returns milliseconds since some moment. */
  constructor(begin: Begin, clock: () => number = () => performance.now()) {
    this.#begin = begin;
    this.#clock = clock;
  }

  get active(): boolean {
    return this.timing || this.#fastest.size > 0;
  }

  /** Names of the fastest candidates by key. */
  get choices(): Record<string, string> {
    return Object.fromEntries(this.#fastest);
  }

  remember(choices: Readonly<Record<string, string>>): void {
    for (const [key, name] of Object.entries(choices)) this.#fastest.set(key, name);
  }

  forget(): void {
    this.#fastest.clear();
  }

  choose(candidates: Candidates): number {
    const { key, names, flop } = candidates;
    if (flop < LARGE) return 0;
    const known = names.indexOf(this.#fastest.get(key) ?? "");
    if (known >= 0 || !this.timing) return Math.max(0, known);
    const best = this.#time(candidates);
    if (best === null) return 0;
    this.#fastest.set(key, names[best]);
    return best;
  }

  /** Returns the index of the fastest; null where it cannot be measured. */
  #time(candidates: Candidates): number | null {
    const trial = this.#begin(candidates);
    if (trial === null) return null;
    const plans = candidates.names.slice(0, MOST).map((_, i) => candidates.plan(i));
    const least = plans.map(() => Infinity);
    try {
      for (const plan of plans) trial.run(plan);
      for (let round = 0; round < ROUNDS; round++) {
        plans.forEach((plan, i) => {
          const start = this.#clock();
          trial.run(plan);
          least[i] = Math.min(least[i], this.#clock() - start);
        });
      }
    } finally {
      trial.end();
    }
    return least.indexOf(Math.min(...least));
  }
}
