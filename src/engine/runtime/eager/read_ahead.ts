/**
 * ReadAhead: lets code read synchronously from a device that can only be awaited, such as a GPU in a browser. Reads are
 * served from copies made before; missing ones are noted, so that the code can be called again once they have been
 * read.
 */
import type { HostData } from "../../core/dtype.ts";
import { Dynamic } from "../../core/scope_context.ts";
import { FailedPreconditionError } from "../../core/errors.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { Storage } from "./storage.ts";
import type { EagerTensor } from "./tensor.ts";

/** A host copy of memory. */
interface Copy {
  readonly storage: Storage;
  readonly array: NdArray;
  /** True once the code read it, or where that is not required. */
  used: boolean;
}

/** The copies that one call may read, and the tensors it lacked. */
export class ReadAhead {
  readonly #copies: Copy[] = [];
  readonly #missing = new Set<EagerTensor>();
  /** True where the code had to wait for a read that could have been made before. */
  wasLate = false;
  /** The code's effect that must not be repeated; null while it may be called again. */
  effect: string | null = null;
  /** True where the code is called again after its missing reads were made, unless it had an effect. */
  readonly mayRepeat: boolean;

  constructor(mayRepeat: boolean) {
    this.mayRepeat = mayRepeat;
  }

  has(t: EagerTensor): boolean {
    return this.#copyOf(t) !== undefined;
  }

  /** Notes an effect that must not be repeated. */
  noteEffect(what: string): void {
    this.effect ??= what;
  }

  /** Returns a copy of a tensor's elements; null, and a note, if there is none. */
  read(t: EagerTensor): HostData | null {
    const copy = this.#copyOf(t);
    if (copy) {
      copy.used = true;
      return copy.array.data.slice() as HostData;
    }
    this.#missing.add(t);
    return null;
  }

  /** Notes that missing tensors were read after all. */
  readLate(tensors: readonly EagerTensor[]): void {
    for (const t of tensors) this.#missing.delete(t);
    this.wasLate = true;
  }

  /** Views share memory: their shape does not matter. */
  #copyOf({ storage, dtype }: EagerTensor): Copy | undefined {
    return this.#copies.find((c) => c.storage === storage && c.array.dtype === dtype);
  }

  /** True for the error of code that lacked a copy: such a read is a failed precondition. */
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
   * Reads the missing tensors. False where that does not help: the code made them itself and would make them anew. Such
   * a tensor is disposed by now, or was read before and not used.
   */
  async fetchMissing(): Promise<boolean> {
    const missing = [...this.#missing];
    if (missing.length === 0) return true;
    this.#missing.clear();
    const isOld = missing.every((t) => t.storage.refs > 0) && this.#copies.every((c) => c.used);
    if (isOld) await this.fetch(missing, false);
    return isOld;
  }

  forgetMissing(): void {
    this.#missing.clear();
  }
}

const readsInForce = new Dynamic<ReadAhead | null>(null);

/** The reads of the code that runs now; null where devices answer. */
export function currentReads(): ReadAhead | null {
  return readsInForce.current;
}

/** Runs code with these reads; null lets devices answer. */
export function withReads<R>(reads: ReadAhead | null, fn: () => R): R {
  return readsInForce.within(reads, fn);
}
