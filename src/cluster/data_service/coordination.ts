/**
 * Coordinated reads as a dispatcher sees them: from which round on consumers read a task that came later, and when they give one up.
 */
import type { Entry, Iteration, TaskState } from "./dispatcher_state.ts";

/** The progress of a consumer. */
export interface Progress {
  readonly client: number;
  readonly round: number;
  /** The first round that the consumer holds back until it is told to begin it. */
  readonly blocked: number | undefined;
}

/** The task that consumers are to agree upon next. */
export function pendingTask({ tasks }: Iteration): TaskState | undefined {
  return tasks.find((t) => t.ready !== null && t.ended === null);
}

/**
 * Decides what a consumer's progress means for the task that waits for all consumers: a consumer that holds before
 * the task's first round agrees; one past it defers the task, each time twice as far, until all hear of it in time.
 * Follows TensorFlow's `ClientHeartbeat`.
 */
export function progressed(task: TaskState, { client, round, blocked }: Progress): Entry | null {
  if (blocked !== undefined && Math.max(blocked, round) <= task.round) {
    return task.ready!.has(client) ? null : { is: "agreed", task: task.id, client };
  }
  if (round < task.round) return null;
  return { is: "deferred", task: task.id, round: round + 2 * 2 ** task.failures };
}

/** Milliseconds for which a consumer that cannot reach a worker waits for the others to say the same. */
const AGREE_MS = 1000;

/** Consumers that cannot reach the worker of a task. */
export class Removals {
  readonly #waiting = new Map<number, Map<number, (all: boolean) => void>>();

  /**
   * Resolves with true when all consumers of a task ask for its removal at once; with false after a time, or when the
   * caller has gone.
   */
  agreed(
    task: number,
    consumer: number,
    { consumers, signal }: { readonly consumers: number; readonly signal: AbortSignal },
  ): Promise<boolean> {
    const others = this.#waiting.get(task) ?? new Map<number, (all: boolean) => void>();
    this.#waiting.set(task, others);
    others.get(consumer)?.(false);
    return new Promise((resolve) => {
      const end = (all: boolean): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", leave);
        others.delete(consumer);
        if (others.size === 0) this.#waiting.delete(task);
        resolve(all);
      };
      const leave = (): void => end(false);
      const timer = setTimeout(leave, AGREE_MS);
      signal.addEventListener("abort", leave, { once: true });
      others.set(consumer, end);
      if (others.size === consumers) { for (const each of [...others.values()]) each(true); }
    });
  }
}

/** Returns bytes as hexadecimal digits. */
export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}
