/**
 * RunLimit: when a run is to end, by its time limit or by its caller's signal.
 */
import { CancelledError, DeadlineExceededError, type OpError } from "../../core/errors.ts";
import type { RunOptions } from "./requests.ts";

/** What a caller says of when a run is to end. */
type RunLimitOptions = Pick<RunOptions, "timeoutMs" | "signal">;

/** Milliseconds between two looks at the clock. */
const LOOK_EVERY = 1;
/** Calls between two looks: a body that begins to take long is noticed after so many turns. */
const MOST_CALLS = 64;

/** When a run is to end. While it leaves the event loop no turn, neither timers nor listeners tell: it must ask. */
export class RunLimit {
  /** Milliseconds it was given; undefined for no limit. */
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly #deadline: number;
  #looked = 0;
  #calls = 0;
  #every = 1;

  /** The limit that options set; null where they set none. */
  static of(options: RunLimitOptions): RunLimit | null {
    return options.timeoutMs === undefined && !options.signal ? null : new RunLimit(options);
  }

  private constructor({ timeoutMs, signal }: RunLimitOptions) {
    this.timeoutMs = timeoutMs;
    this.signal = signal;
    this.#deadline = timeoutMs === undefined ? Infinity : performance.now() + timeoutMs;
  }

  get left(): number {
    return Math.max(0, this.#deadline - performance.now());
  }

  /**
   * Why the run must end, or null. To be asked once a turn: reading the clock takes a tenth of what a turn of a small loop does, so
   * it is looked at about once a millisecond.
   */
  due(): OpError | null {
    if (++this.#calls < this.#every) return null;
    this.#calls = 0;
    if (this.signal?.aborted) return this.cancelled();
    if (this.#deadline === Infinity) return null;
    const now = performance.now();
    if (now >= this.#deadline) return this.expired();
    this.#every = now - this.#looked < LOOK_EVERY ? Math.min(2 * this.#every, MOST_CALLS) : 1;
    this.#looked = now;
    return null;
  }

  expired(): DeadlineExceededError {
    return new DeadlineExceededError(
      `Timed out waiting for notification: the run took longer than ${this.timeoutMs} ms`,
    );
  }

  cancelled(): CancelledError {
    return new CancelledError("The run was cancelled", { cause: this.signal?.reason });
  }
}
