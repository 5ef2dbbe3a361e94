/** Connections and their requests: a client with very many waits for itself, and others do not wait for it. */
import type { ClientTurns } from "./turns.ts";

/** Most requests of one connection that are answered at a time: with more the answers keep the event loop from other connections. */
const MOST_AT_ONCE = 4;

/** Milliseconds in which a client may begin as many connections as it may have. */
const WINDOW_MS = 1000;

/** Connections of clients: how many each has, and has begun within a second. */
export class Places {
  readonly #most: number;
  readonly #now: () => number;
  readonly #open = new Map<string, number>();
  #begun = new Map<string, number>();
  #since: number;

  /** A client has and begins at most `most`; `now` returns the time in milliseconds. */
  constructor(most: number, now: () => number = () => performance.now()) {
    this.#most = most;
    this.#now = now;
    this.#since = now();
  }

  /** Takes a place for a connection of a client. Returns false where it has none left. */
  take(client: string): boolean {
    const now = this.#now();
    if (now - this.#since >= WINDOW_MS) {
      this.#since = now;
      this.#begun = new Map();
    }
    const open = this.#open.get(client) ?? 0, begun = this.#begun.get(client) ?? 0;
    if (open >= this.#most || begun >= this.#most) return false;
    this.#open.set(client, open + 1);
    this.#begun.set(client, begun + 1);
    return true;
  }

  /** Gives the place of a connection back. */
  leave(client: string): void {
    const open = this.#open.get(client)! - 1;
    if (open > 0) this.#open.set(client, open);
    else this.#open.delete(client);
  }
}

/** The requests of one connection that are not answered yet. */
export class Pipeline {
  readonly #turns: ClientTurns;
  #running = 0;
  /** Callbacks that begin the next ones. */
  readonly #waiting: (() => void)[] = [];

  constructor(turns: ClientTurns) {
    this.#turns = turns;
  }

  /** Begins a request in a turn, once fewer than four are there that have begun and not {@linkcode ended}. */
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
