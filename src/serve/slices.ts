/** Long work on the host thread in slices, between which other requests are answered. */
import { nextSlice } from "../engine/runtime/run/timers.ts";

/** Milliseconds of a slice: a small request takes several turns of the event loop, and health is to be answered within 100. */
const SLICE_MS = 5;

/** Work of one request. */
export class Slices {
  readonly #signal: AbortSignal | undefined;
  #since = performance.now();

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** Gives the event loop a turn where the slice is over. Throws the reason of `signal` where that has aborted. */
  turn(): Promise<void> | void {
    if (performance.now() - this.#since >= SLICE_MS) return this.#rest();
  }

  async #rest(): Promise<void> {
    await nextSlice();
    this.#since = performance.now();
    this.#signal?.throwIfAborted();
  }
}
