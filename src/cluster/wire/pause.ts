/** Pauses that an abort signal ends early. */
import { after } from "../../engine/runtime/run/timers.ts";

/** Resolves after `ms` milliseconds, or when the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clear();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const clear = after(ms, done);
    signal.addEventListener("abort", done, { once: true });
    if (signal.aborted) done();
  });
}
