/** Counts of a run: kernels of the CPU, dispatches, readbacks, bytes, calls of script bodies. */
import { wantFunction } from "../../core/arguments.ts";
import { DeviceCounters, kernelTotal } from "../../core/device.ts";
import { gpuDevice } from "../devices/devices.ts";

/** Counts of one run or one profiled function. */
export interface RunMetadata extends DeviceCounters {
  /** Kernels run on the CPU. */
  cpuKernels: number;
  /** Script bodies called. */
  hostCalls: number;
}

/** Script bodies called so far in the process. */
export const hostCallTotal = { count: 0 };

export function snapshotCounters(): RunMetadata {
  return {
    cpuKernels: kernelTotal.count,
    ...(gpuDevice()?.counters ?? new DeviceCounters()),
    hostCalls: hostCallTotal.count,
  };
}

/** Returns the counts since `before`. */
function countsSince(before: RunMetadata): RunMetadata {
  const now = snapshotCounters();
  for (const key of Object.keys(now) as (keyof RunMetadata)[]) now[key] -= before[key];
  return now;
}

/**
 * Counts the work of one run, also among concurrent runs: only code that works for this run is counted. Commands of
 * several runs may be submitted together; the submitting run counts the submission.
 */
export class RunCounter {
  readonly total: RunMetadata = { cpuKernels: 0, ...new DeviceCounters(), hostCalls: 0 };
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

/** The result of {@linkcode profile}: the counts, and the function's result. */
export interface ProfileInfo<T> extends RunMetadata {
  /** The function's result. */
  readonly result: T;
  /** The counts as a text. {@linkcode trace} has them by op. */
  readonly table: () => string;
}

/**
 * Counts the work of `fn`: kernels of the CPU, dispatches, readbacks and bytes of the GPU, calls of script bodies. Results that were asked
 * for before are none of it. {@linkcode trace} has times by op. Rejects with the error of `fn`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const p = await tf.profile(() => tf.add(1, 2));
 * console.log(p.result.item(), p.cpuKernels + p.dispatches); // 3 1
 * console.log(p.table()); // cpuKernels…
 * ```
 */
export async function profile<T>(fn: () => T | Promise<T>): Promise<ProfileInfo<T>> {
  wantFunction(fn, "fn", "profile");
  const before = snapshotCounters();
  const result = await fn();
  const counts = countsSince(before);
  return { ...counts, result, table: () => countsText(counts) };
}

function countsText(counts: RunMetadata): string {
  const lines = Object.entries(counts), width = Math.max(...lines.map(([name]) => name.length));
  const digits = Math.max(...lines.map(([, n]) => String(n).length));
  return lines.map(([name, n]) => `${name.padEnd(width)}  ${String(n).padStart(digits)}`).join(
    "\n",
  );
}
