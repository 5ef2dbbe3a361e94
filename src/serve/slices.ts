/** Long work on the host thread in slices, between which other requests are answered. */
import { nextSlice, sliceAt } from "../engine/runtime/run/timers.ts";

/** Milliseconds of a slice: a small request takes several turns of the event loop, and health is to be answered within 100. */
const SLICE_MS = 5;

/** Bytes that are copied between two looks at the clock. */
const COPIED = 1 << 18;

/** Work of one request. */
export class Slices {
  readonly signal: AbortSignal;
  /** Is told of the bytes that values take which were few in the request. Throws where there are too many. */
  readonly took: (bytes: number) => void;
  #since = performance.now();

  constructor(
    signal: AbortSignal = new AbortController().signal,
    took: (bytes: number) => void = () => {},
  ) {
    this.signal = signal;
    this.took = took;
  }

  /** Gives the event loop a turn where the slice is over. Throws the reason of `signal` where that has aborted. */
  turn(): Promise<void> | void {
    const now = performance.now();
    if (now - this.#since >= sliceAt(now, SLICE_MS)) return this.#rest();
  }

  async #rest(): Promise<void> {
    await nextSlice();
    this.#since = performance.now();
    this.signal.throwIfAborted();
  }
}

/** Concatenates bytes. New memory costs most when it is first written: slices bound that as well. */
export async function concatInSlices(
  parts: readonly Uint8Array[],
  slices: Slices,
): Promise<Uint8Array<ArrayBuffer>> {
  const out = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  let at = 0;
  for (const part of parts) {
    for (let from = 0; from < part.length; from += COPIED) {
      const piece = part.subarray(from, from + COPIED);
      out.set(piece, at);
      at += piece.length;
      await slices.turn();
    }
  }
  return out;
}
