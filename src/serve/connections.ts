/** Requests of connections: one that sends very many at once waits for itself, and not others for it. */

/** Most requests of one connection that are answered at a time: as many as a batch has rows, where nothing else is said. */
const MOST_AT_ONCE = 32;

/** Requests of one connection. */
interface Connection {
  running: number;
  /** Callbacks that begin the next ones. */
  readonly waiting: (() => void)[];
}

/** The connections that have requests. */
export class Connections {
  readonly #open = new Map<string, Connection>();

  /** Answers a request of the connection `key` when its turn has come. */
  async answer(key: string, answer: () => Promise<Response>): Promise<Response> {
    const connection = this.#open.get(key) ?? { running: 0, waiting: [] };
    this.#open.set(key, connection);
    if (connection.running < MOST_AT_ONCE) connection.running++;
    else await new Promise<void>((resolve) => connection.waiting.push(resolve));
    try {
      return await answer();
    } finally {
      const next = connection.waiting.shift();
      // The next one takes the place.
      if (next !== undefined) next();
      else if (--connection.running === 0) this.#open.delete(key);
    }
  }
}
