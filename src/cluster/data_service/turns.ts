/** Coordinated reads as a consumer sees them: all consumers ask the same tasks in the same order, round by round. */

/** The part of a task that turns depend on. */
export interface TurnTask {
  readonly id: bigint;
  /** The first round in which it is asked. */
  readonly startingRound: number;
  /** Time at which the pending request began, or null. */
  readonly asked: number | null;
}

/** The order in which one consumer asks its tasks. */
export class Turns {
  #round = 0;
  /** The task that was asked last in this round; below all of them where the round has not begun. */
  #last = -1n;
  #held: number | null = null;

  get round(): number {
    return this.#round;
  }

  /** True while the next round must not begin. */
  get isHeld(): boolean {
    return this.#held !== null;
  }

  /** The progress that the dispatcher is told. */
  get progress(): { readonly currentRound: bigint; readonly blockedRound?: bigint } {
    const currentRound = BigInt(this.#round);
    return { currentRound, ...(this.#held !== null && { blockedRound: BigInt(this.#held) }) };
  }

  /**
   * Holds a round back until the dispatcher releases it: consumers wait for one another there, to begin with a task
   * that came later. A round that has begun goes on: the dispatcher sees it and names a later one.
   */
  hold(round: bigint | undefined): void {
    const at = Number(round ?? -1);
    this.#held = this.#round < at || this.#round === at && this.#last < 0n ? at : null;
  }

  /** Returns the next task to ask, for an element of {@linkcode Turns.round}; null while one is awaited. */
  next<T extends TurnTask>(tasks: readonly T[]): T | null {
    if (tasks.length === 0) return null;
    const inOrder = tasks.toSorted((a, b) => a.id < b.id ? -1 : 1);
    while (this.#round !== this.#held) {
      const task = inOrder.find((t) => t.id > this.#last && t.startingRound <= this.#round);
      if (task === undefined) {
        this.#round++;
        this.#last = -1n;
        continue;
      }
      if (task.asked !== null) return null;
      this.#last = task.id;
      return task;
    }
    return null;
  }
}
