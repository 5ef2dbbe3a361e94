/**
 * Feeds that come when a run has begun: a loop's state, while what does not need it goes ahead.
 */
import type { OpInput } from "../../core/apply.ts";
import type { Plan } from "../plan/plan.ts";

/** Some feeds of a run, which are supplied once. */
export class LateFeeds {
  /** Their numbers among the feeds. */
  readonly numbers: readonly number[];
  readonly #takers: ((values: readonly OpInput[]) => void)[] = [];

  /** `count` feeds from number `from` on. */
  constructor(from: number, count: number) {
    this.numbers = Array.from({ length: count }, (_, i) => from + i);
  }

  /** Hears of the values before those that ask later. */
  whenSupplied(take: (values: readonly OpInput[]) => void): void {
    this.#takers.push(take);
  }
  /** Hands the values, one for each number, to the run. */
  supply(values: readonly OpInput[]): void {
    for (const take of this.#takers.splice(0)) take(values);
  }
}

/** True where a plan reads something from a device that does not depend on these feeds. */
export function readsBeside({ feeds, steps }: Plan, { numbers }: LateFeeds): boolean {
  const late = new Set(numbers.map((i) => feeds[i])), made = new Set<number>();
  for (const { node, inputs, outputs, offGpu, device } of steps) {
    if (inputs.some((slot, i) => offGpu[i] && made.has(slot))) return true;
    const target = inputs.some((slot) => late.has(slot))
      ? late
      : device.type === "GPU" && !node.def.host
      ? made
      : null;
    for (const slot of outputs) target?.add(slot);
  }
  return false;
}
