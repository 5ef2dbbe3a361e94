/**
 * ReadAhead: for code that reads at once what lies on a device which can only be awaited, such as a GPU in a browser. It gets copies
 * that were read before; what it lacks is noted, so that it can be called again once that has been read.
 */
import type { HostData } from "../../core/dtype.ts";
import { Dynamic } from "../../core/scope_context.ts";
import { FailedPreconditionError } from "../../core/errors.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { Storage } from "./storage.ts";
import type { EagerTensor } from "./tensor.ts";

/** A copy of what is in some memory. */
interface Copy {
  readonly storage: Storage;
  readonly array: NdArray;
  /** True once it was asked for, or where nobody need ask. */
  used: boolean;
}

/** What one call may read, and what it lacked. */
export class ReadAhead {
  readonly #copies: Copy[] = [];
  readonly #missing = new Set<EagerTensor>();
  /** True where the code read urgently what would better have been read before. */
  wasLate = false;
  /** What the code has done that must not be done twice; null where it may be called again. */
  effect: string | null = null;
  /** True where the code is called again once what it lacked has been read, unless it has had an effect. */
  readonly mayRepeat: boolean;

  constructor(mayRepeat: boolean) {
    this.mayRepeat = mayRepeat;
  }

  /** True where there is a copy of a tensor's elements. */
  has(t: EagerTensor): boolean {
    return this.#copyOf(t) !== undefined;
  }

  /** Notes that the code has done something that must not be done twice. */
  noteEffect(what: string): void {
    this.effect ??= what;
  }

  /** A copy of a tensor's elements; null where there is none, which is noted. */
  read(t: EagerTensor): HostData | null {
    const copy = this.#copyOf(t);
    if (copy) {
      copy.used = true;
      return copy.array.data.slice() as HostData;
    }
    this.#missing.add(t);
    return null;
  }

  /** Notes that the code has read after all what it lacked. */
  readLate(tensors: readonly EagerTensor[]): void {
    for (const t of tensors) this.#missing.delete(t);
    this.wasLate = true;
  }

  /** Views share memory, in whatever shape. */
  #copyOf({ storage, dtype }: EagerTensor): Copy | undefined {
    return this.#copies.find((c) => c.storage === storage && c.array.dtype === dtype);
  }

  /** True for the error of code that lacked something: reads that fail are failed preconditions, whoever passes them on. */
  lacked(error: unknown): boolean {
    return this.#missing.size > 0 && error instanceof FailedPreconditionError;
  }

  /** Reads tensors in one copy. */
  async fetch(tensors: readonly EagerTensor[], used = true): Promise<void> {
    const wanted = tensors.filter((t) => !this.#copyOf(t));
    if (wanted.length === 0) return;
    const arrays = await wanted[0].storage.device.read(wanted.map((t) => t.memory));
    arrays.forEach((array, i) => this.#copies.push({ storage: wanted[i].storage, array, used }));
  }

  /**
   * Reads what was lacking. False where that is of no use: the code made it, and the next call would make it anew. Then it is gone
   * by now, or has been read before and not asked for.
   */
  async fetchMissing(): Promise<boolean> {
    const missing = [...this.#missing];
    if (missing.length === 0) return true;
    this.#missing.clear();
    const isOld = missing.every((t) => t.storage.refs > 0) && this.#copies.every((c) => c.used);
    if (isOld) await this.fetch(missing, false);
    return isOld;
  }

  /** Forgets what was lacking. */
  forgetMissing(): void {
    this.#missing.clear();
  }
}

const readsInForce = new Dynamic<ReadAhead | null>(null);

/** What the code that runs now may read; null where devices answer. */
export function currentReads(): ReadAhead | null {
  return readsInForce.current;
}

/** Runs code with what it may read; null for code that devices answer. */
export function withReads<R>(reads: ReadAhead | null, fn: () => R): R {
  return readsInForce.within(reads, fn);
}
