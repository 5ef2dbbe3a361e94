/**
 * What a run did: dispatches, readbacks, bytes, calls of script bodies.
 */
import { wantFunction } from "../../core/arguments.ts";
import { DeviceCounters } from "../../core/device.ts";
import { gpuDevice } from "../devices/devices.ts";

/** Counts of one run or one profiled function. */
export interface RunMetadata extends DeviceCounters {
  /** Script bodies called. */
  hostCalls: number;
}

/** Script bodies called so far, by anybody. */
export const hostCallTotal = { count: 0 };

/** Counters as they stand. */
export function snapshotCounters(): RunMetadata {
  return { ...(gpuDevice()?.counters ?? new DeviceCounters()), hostCalls: hostCallTotal.count };
}

/** What was counted since `before`. */
function countsSince(before: RunMetadata): RunMetadata {
  const now = snapshotCounters();
  for (const key of Object.keys(now) as (keyof RunMetadata)[]) now[key] -= before[key];
  return now;
}

/**
 * Counts what one run does, also where others run meanwhile: only the stretches of code that work for this run are counted.
 * Commands of several runs may be submitted together; who submits them counts the submission.
 */
export class RunCounter {
  readonly total: RunMetadata = { ...new DeviceCounters(), hostCalls: 0 };
  #isCounting = false;

  /** Runs code that works for the run. */
  within<R>(fn: () => R): R {
    if (this.#isCounting) return fn();
    this.#isCounting = true;
    const before = snapshotCounters();
    try {
      return fn();
    } finally {
      this.#isCounting = false;
      const counts = countsSince(before);
      for (const key of Object.keys(counts) as (keyof RunMetadata)[]) {
        this.total[key] += counts[key];
      }
    }
  }
}

/** What {@linkcode profile} returns: the counts, and what the function returned. */
export interface ProfileInfo<T> extends RunMetadata {
  /** What the function returned. */
  readonly result: T;
}

/**
 * Counts what `fn` does on the devices.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const p = await tf.profile(() => tf.add(1, 2));
 * assertEquals(p.result.item(), 3);
 * console.log(p.dispatches, p.readbacks);
 * ```
 */
export async function profile<T>(fn: () => T | Promise<T>): Promise<ProfileInfo<T>> {
  wantFunction(fn, "fn", "profile");
  const before = snapshotCounters();
  const result = await fn();
  return { ...countsSince(before), result };
}
