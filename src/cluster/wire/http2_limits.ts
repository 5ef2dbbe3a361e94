/** Limits of what other ends may ask for without giving anything: RFC 9113, 10.5. */
import { DataLossError, ResourceExhaustedError } from "../../engine/core/errors.ts";
import { ByteBudget } from "../../library/io/bytes.ts";

/**
 * Most frames a second of one connection that carry neither a call's headers nor its bytes: resets, settings, pings, windows. Reading
 * so many takes about a fiftieth of a second.
 */
const MOST_FRAMES = 20_000;

/** Counts such frames of a connection. */
export class FrameRate {
  #since = Date.now();
  #count = 0;

  /** Counts one. Throws `DataLossError` where there are too many. */
  add(): void {
    if (++this.#count <= MOST_FRAMES) return;
    const now = Date.now();
    if (now - this.#since < 1000) throw new DataLossError("Too many frames without a call's bytes");
    this.#since = now;
    this.#count = 1;
  }
}

/** Bounds the bytes of messages that the calls of a server or a channel have sent so far, together. */
export function heldBytes(most: number): ByteBudget {
  return new ByteBudget(most, (most) =>
    new ResourceExhaustedError(
      `Cannot read a message: those of all calls together take more than ${most} bytes`,
    ));
}
