/** Requests of a connection: one that sends very many at once waits for itself, and not others for it. */
import type { ClientTurns } from "./turns.ts";

/** Most requests of one connection that are answered at a time: as many as a batch has rows, where nothing else is said. */
const MOST_AT_ONCE = 32;

/** The requests of one connection that are not answered yet. */
export class Pipeline {
  readonly #turns: ClientTurns;
  #running = 0;
  /** Callbacks that begin the next ones. */
  readonly #waiting: (() => void)[] = [];

  constructor(turns: ClientTurns) {
    this.#turns = turns;
  }

  /** Begins a request in a turn, once fewer than 32 are there that have begun and not {@linkcode ended}. */
  begin(request: () => void, isAlone: boolean): void {
    if (this.#running === MOST_AT_ONCE) return void this.#waiting.push(request);
    this.#running++;
    this.#turns.take(request, isAlone);
  }

  /** Ends a request that has begun; the next one takes its place. */
  ended(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else this.#turns.take(next, false);
  }
}
