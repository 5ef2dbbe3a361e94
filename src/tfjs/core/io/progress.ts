/** Progress of several promises. */
import { assert } from "../util/checks.ts";
import type { OnProgressCallback } from "./types.ts";

/**
 * Waits for all, and reports the progress after each, from `startFraction` to `endFraction`. Throws for fractions out
 * of [0, 1] or out of order.
 */
export function monitorPromisesProgress<T>(
  promises: readonly Promise<T>[],
  onProgress: OnProgressCallback,
  startFraction = 0,
  endFraction = 1,
): Promise<T[]> {
  assert(
    Array.isArray(promises) && promises.length > 0,
    "Cannot tell of progress: promises must be a none empty array",
  );
  for (const fraction of [startFraction, endFraction]) {
    assert(
      fraction >= 0 && fraction <= 1,
      () => `Cannot tell of progress: a fraction is ${fraction}, wanted 0 to 1`,
    );
  }
  assert(
    endFraction >= startFraction,
    () => `Cannot tell of progress: it begins at ${startFraction} and ends at ${endFraction}`,
  );
  let done = 0;
  return Promise.all(promises.map(async (promise) => {
    const value = await promise;
    done++;
    onProgress(startFraction + done / promises.length * (endFraction - startFraction));
    return value;
  }));
}
