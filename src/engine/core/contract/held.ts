/** Things that are no tensors, as values that flow along edges: tapes, maps of gradients, owners of tensors. */
import type { OpInput } from "../apply.ts";
import { NdArray } from "../nd_array.ts";

/** The object behind a handle, with a reference count. */
export abstract class Held implements Disposable {
  #refs = 1;

  /** Adds a holder. */
  retain(): this {
    this.#refs++;
    return this;
  }
  /** Drops a holder; the last one frees what is held. */
  [Symbol.dispose](): void {
    if (--this.#refs === 0) this.free();
  }
  protected abstract free(): void;
}

/** The thing in a value of dtype variant, which a host array holds, or the storage of a tensor. */
export function handleIn(x: OpInput): unknown {
  if (x instanceof NdArray) return (x.data as unknown[])[0];
  return (x as unknown as { storage: { handles: readonly unknown[] } }).storage.handles[0];
}
