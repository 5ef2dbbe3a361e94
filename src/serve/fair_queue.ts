/** Queues in which clients take turns: a client with much work waits for itself, and others wait for one piece of it. */

/** The client of an address: the network of 64 bits of one of IPv6, which belongs to one site. */
export function clientOf(address: string): string {
  if (!address.includes(":") || address.includes(".")) return address.replace(/^.*:/, "");
  const [left, right] = address.split("::").map((part) => part === "" ? [] : part.split(":"));
  const zeros = right === undefined ? 0 : 8 - left.length - right.length;
  return [...left, ...Array(Math.max(0, zeros)).fill("0"), ...right ?? []].slice(0, 4).join(":");
}

/** A queue of queues, one for each client that waits. */
export class FairQueue<T> {
  /** In the order of their turns. */
  readonly #clients = new Map<string, T[]>();

  get isEmpty(): boolean {
    return this.#clients.size === 0;
  }

  push(client: string, value: T): void {
    const waiting = this.#clients.get(client);
    if (waiting === undefined) this.#clients.set(client, [value]);
    else waiting.push(value);
  }

  /** Returns the first value of the client whose turn it is, whose next one is after those of all others; undefined where none waits. */
  shift(): T | undefined {
    for (const [client, waiting] of this.#clients) {
      const value = waiting.shift();
      this.#clients.delete(client);
      if (waiting.length > 0) this.#clients.set(client, waiting);
      return value;
    }
    return undefined;
  }
}
