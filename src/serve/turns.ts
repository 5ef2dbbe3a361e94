/** Turns of work that shares an event loop: what is done in one is short, and a client's only request goes before the rest of many. */
import { nextTurn } from "../engine/runtime/run/timers.ts";

/** Milliseconds of work in one turn of the event loop. */
const TURN_MS = 2;

/** Work of a turn. A promise is waited for while the turn lasts. */
type Work = () => Promise<void> | void;

/** A queue of work, which is done for a time in each turn of the event loop. */
export class Turns {
  /** Work of clients that have asked for nothing else comes before that of those which have. */
  readonly #fresh: Work[] = [];
  readonly #rests: Work[] = [];
  readonly #now: () => number;
  #isRunning = false;

  /** `now` returns the time in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Does `work` now, where nothing else is to be done in this turn, or later. What it throws is an error of the process. */
  take(work: Work, isFresh: boolean): void {
    (isFresh ? this.#fresh : this.#rests).push(work);
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#fresh.length + this.#rests.length > 0) {
      let isOver = false;
      const since = this.#now(), over = nextTurn().then(() => void (isOver = true));
      do {
        const work = this.#fresh.shift() ?? this.#rests.shift();
        if (work === undefined) break;
        const running = begin(work);
        // Promises that are settled within the turn let the next work begin in it.
        if (running !== undefined) await Promise.race([running, over]);
      } while (!isOver && this.#now() - since < TURN_MS);
      await over;
    }
    this.#isRunning = false;
  }
}

/** Begins work. An error of one piece of it ends no other. */
function begin(work: Work): Promise<void> | void {
  const report = (error: unknown): void =>
    queueMicrotask(() => {
      throw error;
    });
  try {
    return work()?.catch(report);
  } catch (error) {
    report(error);
  }
}
