/** Connections of a server: an idle one is closed where a new one needs its place. */

/** The used part of a connection. */
interface Open {
  /** Number of its calls. */
  readonly open: number;
  destroy(): void;
}

/** So many connections at most. Where there is one more, the first without a call ends, and the new one where all have calls. */
export class OpenConnections<T extends Open> implements Iterable<T> {
  readonly #most: number;
  readonly #all = new Set<T>();

  constructor(most: number) {
    this.#most = most;
  }

  add(connection: T): void {
    this.#all.add(connection);
    if (this.#all.size <= this.#most) return;
    // The new one is the last of all, and has no call yet.
    for (const other of this.#all) {
      if (other.open > 0) continue;
      this.#all.delete(other);
      return other.destroy();
    }
  }

  delete(connection: T): void {
    this.#all.delete(connection);
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#all.values();
  }
}
