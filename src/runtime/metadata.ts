/**
 * What a run did: dispatches, readbacks, bytes, calls of script bodies.
 * May import core and devices.
 */
import { type DeviceCounters, newCounters } from "../core/device.ts";
import { gpuDevice } from "./devices.ts";

/** Counts of one run or one profiled function. */
export interface RunMetadata extends DeviceCounters {
  /** Script bodies called. */
  hostCalls: number;
}

/** Script bodies called so far, by anybody. */
export const hostCallTotal = { count: 0 };

/** Counters as they stand. */
export function snapshotCounters(): RunMetadata {
  return { ...(gpuDevice()?.counters ?? newCounters()), hostCalls: hostCallTotal.count };
}

/** Writes the difference since `before` into `target`. */
export function fillMetadata(
  target: Partial<RunMetadata>,
  before: RunMetadata,
  hostCalls?: number,
): void {
  const now = snapshotCounters();
  for (const key of Object.keys(now) as (keyof RunMetadata)[]) target[key] = now[key] - before[key];
  if (hostCalls !== undefined) target.hostCalls = hostCalls;
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
  const before = snapshotCounters();
  const result = await fn();
  const counts: Partial<RunMetadata> = {};
  fillMetadata(counts, before);
  return { ...counts as RunMetadata, result };
}
