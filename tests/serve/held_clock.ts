/** A clock that stands still, for tests of slices, which depend on when requests came. */
import { stub } from "@std/testing/mock";
import { askedFromElsewhere } from "../../src/engine/runtime/run/timers.ts";

/** Holds the clock, a long time after the requests of other tests, and forgets those of this one. */
export function heldClock(): Disposable {
  const now = performance.now() + 1e6, held = stub(performance, "now", () => now);
  return {
    [Symbol.dispose]() {
      held.restore();
      using _ = stub(performance, "now", () => -Infinity);
      askedFromElsewhere();
    },
  };
}
