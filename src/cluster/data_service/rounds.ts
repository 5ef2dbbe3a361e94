/**
 * Coordinated reads: rounds in which each of several consumers gets one element of a task, so that batches of one round belong together.
 */
import { FailedPreconditionError } from "../../engine/core/errors.ts";
import { after, type Deferred, deferred } from "../../engine/runtime/run/timers.ts";

/** A consumer's request for an element. Follows `GetElementRequest`. */
export interface RoundRequest {
  readonly consumer: number;
  readonly round: number;
  /** The consumer got no element of the round before. */
  readonly skippedPreviousRound: boolean;
  /** A round may be left out where its elements are not ready. */
  readonly allowSkip: boolean;
}

/** A consumer that waits for a round. */
type Waiter<E> = RoundRequest & Deferred<E | null>;

/** One element for each consumer; null where the round is left out. */
type Round<E> = Promise<readonly E[] | null>;

/** Milliseconds that consumers wait for a round before it is left out, as TensorFlow's workers have it. */
export const SKIP_MS = 100;

export class Rounds<E> {
  readonly #consumers: number;
  readonly #read: () => Promise<E | null>;
  /** Consumers that wait for rounds that have not begun, by round and consumer. */
  readonly #waiting = new Map<number, Map<number, Waiter<E>>>();
  #current = -1;
  #round: Round<E> = Promise.resolve(null);
  /** The elements of the next round while they are computed. */
  #reading: Promise<readonly E[]> | null = null;

  /**
   * Creates the rounds of `consumers` consumers over the elements that `read` gives; null is the end, which is an
   * error here.
   */
  constructor(consumers: number, read: () => Promise<E | null>) {
    this.#consumers = consumers;
    this.#read = read;
  }

  /**
   * Resolves with a consumer's element when all consumers have asked for the round; with null where the round is left
   * out.
   */
  next(request: RoundRequest): Promise<E | null> {
    const { consumer, round } = request;
    if (!(consumer >= 0 && consumer < this.#consumers && round >= 0)) {
      throw new FailedPreconditionError(
        `Cannot give consumer ${consumer} an element of round ${round}: wanted a consumer from 0 to ${
          this.#consumers - 1
        }, and a round`,
      );
    }
    if (round < this.#current) {
      throw new FailedPreconditionError(
        `Consumer ${consumer} requested data for round ${round}, but the current round has already reached ${this.#current}. This may indicate that the consumer was restarted with the same job name`,
      );
    }
    if (round === this.#current) return this.#elementOf(consumer);
    const waiter = { ...request, ...deferred<E | null>() };
    const others = this.#of(round), before = others.get(consumer);
    // A repeated request gets the answer of the first one.
    if (before !== undefined) void waiter.promise.then(before.resolve, before.reject);
    others.set(consumer, waiter);
    this.#beginIfReady(request);
    return waiter.promise;
  }

  /** Rejects all waiting requests. */
  end(error: Error): void {
    for (const waiters of this.#waiting.values()) {
      for (const { reject } of waiters.values()) reject(error);
    }
  }

  #beginIfReady({ round, allowSkip }: RoundRequest): void {
    if (this.#of(round).size === this.#consumers) {
      return this.#begin(round, this.#fill(allowSkip ? SKIP_MS : undefined));
    }
    if (this.#current >= 0) return;
    // Consumers may hear of a task one round apart: the earlier ones have their round without the others.
    const first = Math.min(...this.#waiting.keys()), next = this.#of(first + 1);
    if (next.size === 0 || this.#of(first).size + next.size !== this.#consumers) return;
    const [{ skippedPreviousRound }] = next.values();
    this.#begin(first, skippedPreviousRound ? Promise.resolve(null) : this.#fill());
  }

  #begin(round: number, elements: Round<E>): void {
    this.#current = round;
    this.#round = elements;
    for (const [consumer, { resolve, reject }] of this.#of(round)) {
      this.#elementOf(consumer).then(resolve, reject);
    }
    for (const past of [...this.#waiting.keys()].filter((r) => r <= round)) {
      this.#waiting.delete(past);
    }
  }

  async #elementOf(consumer: number): Promise<E | null> {
    return (await this.#round)?.[consumer] ?? null;
  }

  /** Gives the elements of a round, or null where they are not ready in time; they serve the next round then. */
  async #fill(withinMs?: number): Round<E> {
    const reading = this.#reading ??= this.#readRound();
    // A failure after the round was left out is reported by the next round.
    reading.catch(() => {});
    let clear = (): void => {};
    const late = withinMs === undefined ? [] : [
      new Promise<null>((resolve) => clear = after(withinMs, () => resolve(null))),
    ];
    try {
      const elements = await Promise.race([reading, ...late]);
      if (elements !== null) this.#reading = null;
      return elements;
    } finally {
      clear();
    }
  }

  async #readRound(): Promise<readonly E[]> {
    const elements: E[] = [];
    while (elements.length < this.#consumers) {
      const element = await this.#read();
      if (element === null) {
        throw new FailedPreconditionError(
          "Encountered end of sequence on a round-robin read iterator: the dataset must be infinite, repeat() makes it so",
        );
      }
      elements.push(element);
    }
    return elements;
  }

  #of(round: number): Map<number, Waiter<E>> {
    const known = this.#waiting.get(round);
    if (known !== undefined) return known;
    const made = new Map<number, Waiter<E>>();
    this.#waiting.set(round, made);
    return made;
  }
}
