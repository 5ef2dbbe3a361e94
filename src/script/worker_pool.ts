/**
 * The pool of workers that run bodies: as many as the processor has cores, started when needed, one call at a time each.
 */
import { InternalError, UnimplementedError, ValueError } from "../core/errors.ts";
import type { Script, ScriptFunction, WorkerOption } from "./script.ts";
import { startThread, type Thread } from "./worker_thread.ts";
import {
  pack,
  unpack,
  unpackError,
  type WorkerBody,
  type WorkerCall,
  type WorkerReply,
} from "./worker_wire.ts";

/** What a body's context is made of in a worker, and what ends its call. */
export type WorkerContext = Pick<WorkerCall, "node" | "run" | "seed" | "dtype"> & {
  readonly signal: AbortSignal;
};

/** A call that waits or runs. */
interface Job {
  readonly call: WorkerCall;
  readonly transfer: ArrayBuffer[];
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  slot: Slot | null;
}

/** A worker and what it does. */
interface Slot {
  readonly thread: Thread;
  job: Job | null;
}

const slots = new Set<Slot>();
const waiting: Job[] = [];

/** Workers that exist now, for tests. */
export function workerCount(): number {
  return slots.size;
}

/** Ends the workers that have nothing to do. */
export function endIdleWorkers(): void {
  for (const slot of [...slots]) {
    if (slot.job === null) end(slot, new Error("The worker is not needed"));
  }
}

/** What a worker is to run for `func`. Throws `ValueError` where the function cannot be sent. */
export function workerBody(func: ScriptFunction, option: WorkerOption): WorkerBody {
  if (typeof option === "object") {
    if (typeof option.module !== "string" || !URL.canParse(option.module)) {
      throw new ValueError(
        `Cannot run a body in a worker: module must be an absolute URL such as import.meta.resolve("./body.ts"), received ${option.module}`,
      );
    }
    return { module: option.module, name: option.export ?? "default" };
  }
  const source = Function.prototype.toString.call(func);
  if (/\{\s*\[native code\]\s*\}\s*$/.test(source)) {
    throw new ValueError(
      "Cannot run a body in a worker: the source of a bound or built-in function cannot be had, pass worker: { module, export }",
    );
  }
  return { source };
}

/**
 * Runs a script's body in a worker. The arguments' memory is handed over. Rejects with what the body throws, and where its worker
 * breaks. An abort of the context's signal ends the worker.
 */
export function callWorker(
  script: Script,
  args: readonly unknown[],
  context: WorkerContext,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const transfer: ArrayBuffer[] = [];
    const { node, run, seed, dtype, signal } = context;
    const call: WorkerCall = {
      body: workerBody(script.func, script.worker!),
      args: pack(args, transfer) as unknown[],
      node,
      run,
      seed,
      dtype,
    };
    const job: Job = {
      call,
      transfer,
      slot: null,
      resolve: (r) => settle(() => resolve(r)),
      reject: (e) => settle(() => reject(e)),
    };
    const abort = (): void => {
      const at = waiting.indexOf(job);
      if (at >= 0) waiting.splice(at, 1);
      const { slot } = job;
      job.reject(signal.reason);
      if (slot) end(slot, signal.reason as Error);
    };
    const settle = (then: () => void): void => {
      signal.removeEventListener("abort", abort);
      then();
    };
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener("abort", abort);
    waiting.push(job);
    dispatch();
  });
}

/** Gives waiting jobs to idle workers, and to new ones while there may be more. */
function dispatch(): void {
  while (waiting.length > 0) {
    let slot = [...slots].find((s) => s.job === null);
    if (!slot) {
      if (slots.size >= limit()) return;
      try {
        slot = start();
      } catch (e) {
        waiting.shift()!.reject(new UnimplementedError((e as Error).message, { cause: e }));
        continue;
      }
    }
    const job = waiting.shift()!;
    slot.job = job;
    job.slot = slot;
    slot.thread.keepAlive(true);
    try {
      slot.thread.send(job.call, job.transfer);
    } catch (e) {
      slot.job = null;
      slot.thread.keepAlive(false);
      job.reject(e);
    }
  }
}

function limit(): number {
  return Math.max(1, globalThis.navigator?.hardwareConcurrency ?? 4);
}

function start(): Slot {
  const slot: Slot = {
    thread: startThread({
      reply: (r) => finish(slot, r),
      fail: (e) => end(slot, e),
    }),
    job: null,
  };
  slots.add(slot);
  return slot;
}

function finish(slot: Slot, reply: WorkerReply): void {
  const { job } = slot;
  slot.job = null;
  slot.thread.keepAlive(false);
  if (job) {
    if ("result" in reply) job.resolve(unpack(reply.result));
    else if (reply.error.name === "DataCloneError") {
      job.reject(
        new InternalError(`Unsupported object type in the result: ${reply.error.message}`),
      );
    } else job.reject(unpackError(reply.error));
  }
  dispatch();
}

/** A worker is gone: its job fails, others go on. */
function end(slot: Slot, error: Error): void {
  if (!slots.delete(slot)) return;
  slot.thread.terminate();
  slot.job?.reject(error);
  slot.job = null;
  dispatch();
}
