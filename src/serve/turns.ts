/** Turns of work that shares an event loop: what is done in one is short, and a client's only request goes before the rest of many. */
import { nextTask, nextTurn } from "../engine/runtime/run/timers.ts";
import { FairQueue } from "./fair_queue.ts";

/** Milliseconds of work in one turn of the event loop. */
const TURN_MS = 2;

/** Work of a turn. A promise is waited for until all that is left of it waits for events. */
type Work = () => Promise<void> | void;

/** One turn of the event loop. */
interface Turn {
  readonly since: number;
}

/** The turns of one client. */
export type ClientTurns = Pick<Turns, "take">;

/** Queues of work, which is done for a time in each turn of the event loop. */
export class Turns {
  /** Work of clients that have asked for nothing else comes before that of those which have. */
  readonly #fresh = new FairQueue<Work>();
  readonly #rests = new FairQueue<Work>();
  readonly #now: () => number;
  #isRunning = false;
  /** The turn in which work has been done; null where that is over. */
  #turn: Turn | null = null;

  /** `now` returns the time in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The turns of a client: all its connections share them, and each of its works waits for one of every other client. */
  of(client: string): ClientTurns {
    return { take: (work, isFresh) => this.#take(client, work, isFresh) };
  }

  /** Does `work` now, where nothing else is to be done in this turn, or later. What it throws is an error of the process. */
  take(work: Work, isFresh: boolean): void {
    this.#take("", work, isFresh);
  }

  #take(client: string, work: Work, isFresh: boolean): void {
    (isFresh ? this.#fresh : this.#rests).push(client, work);
    if (!this.#isRunning) void this.#run();
  }

  get #isWaiting(): boolean {
    return !this.#fresh.isEmpty || !this.#rests.isEmpty;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#isWaiting) {
      const turn = this.#turn ??= this.#begin();
      while (this.#isWaiting && turn === this.#turn && this.#now() - turn.since < TURN_MS) {
        const running = begin((this.#fresh.shift() ?? this.#rests.shift())!);
        // What waits for events lets the next one begin: with a turn for each, a request waited for as many turns as there were bodies to come.
        if (running !== undefined) await Promise.race([running, nextRest()]);
      }
      // Deno looks for events after every timer, but only after some sixty turns without one.
      if (this.#isWaiting) await nextTask();
      if (turn === this.#turn && this.#isWaiting) this.#turn = null;
    }
    this.#isRunning = false;
  }

  #begin(): Turn {
    const turn: Turn = { since: this.#now() };
    void nextTurn().then(() => {
      if (turn === this.#turn) this.#turn = null;
    });
    return turn;
  }
}

/** The used part of Node's process, which Deno has too. */
interface Ticking {
  readonly nextTick?: (fn: () => void) => void;
}

/** Resolves when promises have nothing left to do: within the turn where the runtime tells when that is, and else after it. */
async function nextRest(): Promise<void> {
  const { process } = globalThis as { readonly process?: Ticking };
  if (process?.nextTick === undefined) return await nextTurn();
  // A tick that is asked for outside of promises comes before them.
  await null;
  await new Promise<void>((resolve) => process.nextTick!(resolve));
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
