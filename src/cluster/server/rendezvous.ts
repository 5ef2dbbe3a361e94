/** Exchange of a step's tensors: a sender leaves a tensor under a key, the receiver takes it, in either order. */
import { AbortedError, AlreadyExistsError, InternalError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";

/** A tensor on its way; null for a dead one, of a branch that was not taken. */
export type Sent = NdArray | null;

/** A key, as TensorFlow writes it: `source device;incarnation in hexadecimal;destination device;name;frame:iteration`. */
export interface RendezvousKey {
  readonly from: string;
  readonly incarnation: bigint;
  readonly to: string;
  readonly name: string;
}

/** Reads a key. Throws `InternalError` for text that is none. */
export function parseKey(text: string): RendezvousKey {
  const [from, incarnation, to, name, frame] = text.split(";");
  if (frame === undefined || !/^[0-9a-f]+$/i.test(incarnation)) {
    throw new InternalError(`Cannot read the rendezvous key "${text}"`);
  }
  return { from, incarnation: BigInt(`0x${incarnation}`), to, name };
}

interface Waiter {
  resolve(value: Sent): void;
  reject(error: unknown): void;
}

/** The tensors of one step. */
export class Rendezvous {
  readonly #values = new Map<string, Sent>();
  readonly #waiters = new Map<string, Waiter[]>();
  /** Keys that were taken: a second value under one is the sender's fault. */
  readonly #taken = new Set<string>();
  #error: unknown = null;

  /** True where there is neither a tensor nor a waiting receiver. */
  get isEmpty(): boolean {
    return this.#values.size === 0 && this.#waiters.size === 0;
  }

  /** True where nothing was sent, and nothing waits. */
  get isUnused(): boolean {
    return this.isEmpty && this.#taken.size === 0 && this.#error === null;
  }

  /** Leaves a tensor. Throws `AlreadyExistsError` where the key has one. */
  send(key: string, value: Sent): void {
    if (this.#error !== null) return;
    if (this.#values.has(key) || this.#taken.has(key)) {
      throw new AlreadyExistsError(`Cannot send "${key}": it was sent before`);
    }
    const waiters = this.#waiters.get(key);
    if (waiters === undefined) {
      this.#values.set(key, value);
      return;
    }
    this.#waiters.delete(key);
    this.#taken.add(key);
    for (const { resolve } of waiters) resolve(value);
  }

  /** Takes a tensor, or waits for it. Rejects where the step ends without it, or `signal` aborts. */
  receive(key: string, signal?: AbortSignal): Promise<Sent> | Sent {
    if (this.#error !== null) throw this.#error;
    const value = this.#values.get(key);
    if (value !== undefined) {
      this.#values.delete(key);
      this.#taken.add(key);
      return value;
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#forget(key, waiter);
        reject(new AbortedError(`No receiver waits for "${key}" any more`));
      };
      const done = (): void => signal?.removeEventListener("abort", leave);
      const waiter: Waiter = {
        resolve: (v) => {
          done();
          resolve(v);
        },
        reject: (e) => {
          done();
          reject(e);
        },
      };
      if (signal?.aborted) return leave();
      signal?.addEventListener("abort", leave, { once: true });
      const waiters = this.#waiters.get(key);
      if (waiters === undefined) this.#waiters.set(key, [waiter]);
      else waiters.push(waiter);
    });
  }

  #forget(key: string, waiter: Waiter): void {
    const left = (this.#waiters.get(key) ?? []).filter((w) => w !== waiter);
    if (left.length > 0) this.#waiters.set(key, left);
    else this.#waiters.delete(key);
  }

  /** Ends the step: waiting and later receivers get this error. */
  abort(error: unknown): void {
    if (this.#error !== null) return;
    this.#error = error;
    this.#values.clear();
    const waiting = [...this.#waiters.values()].flat();
    this.#waiters.clear();
    for (const { reject } of waiting) reject(error);
  }
}
