/** The pool of workers that run bodies: up to one per processor core, started on demand, one call at a time each. */
import { InternalError, UnimplementedError } from "../../core/errors.ts";
import { startThread, type Thread } from "./worker_thread.ts";
import {
  pack,
  packError,
  unpack,
  unpackError,
  type WorkerBody,
  type WorkerCall,
  type WorkerReply,
} from "./worker_wire.ts";

/** The data of a body's context in a worker, with its cancellation. */
export type WorkerContext = Pick<WorkerCall, "node" | "run" | "seed" | "dtype"> & {
  /** Calls `tell` when the call is cancelled, at once if it is already. Returns a function that unregisters it. */
  onAbort(tell: (reason: unknown) => void): () => void;
};

/** Milliseconds that an aborted body that listens to its signal gets to end by itself. */
const GRACE = 500;

/** A call that waits or runs. */
interface Job {
  readonly call: Omit<WorkerCall, "id">;
  readonly transfer: ArrayBuffer[];
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  slot: Slot | null;
}

/** A worker and its state. */
interface Slot {
  readonly thread: Thread;
  job: Job | null;
  /** Calls so far. */
  calls: number;
  /** Number of the aborted call, in shared memory if possible. */
  readonly aborted: Int32Array | null;
  /** True where its body listens to its signal. */
  listens: boolean;
  /** Ends the worker, unless the aborted body ends first. */
  grace: ReturnType<typeof setTimeout> | null;
}

const slots = new Set<Slot>();
const waiting: Job[] = [];

/** Number of workers, for tests. */
export function workerCount(): number {
  return slots.size;
}

export function endIdleWorkers(): void {
  for (const slot of [...slots]) {
    if (slot.job === null) end(slot, new Error("The worker is not needed"));
  }
}

/**
 * Runs a body in a worker. The arguments' memory is transferred. Rejects with the body's error, or if its worker fails.
 * An abort ends the worker, unless the body listens to its signal and ends soon.
 */
export function callWorker(
  body: WorkerBody,
  args: readonly unknown[],
  context: WorkerContext,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const transfer: ArrayBuffer[] = [];
    const { node, run, seed, dtype } = context;
    const job: Job = {
      call: { body, args: pack(args, transfer) as unknown[], node, run, seed, dtype },
      transfer,
      slot: null,
      resolve: (r) => (forget(), resolve(r)),
      reject: (e) => (forget(), reject(e)),
    };
    waiting.push(job);
    let forget = (): void => {};
    forget = context.onAbort((reason) => {
      const at = waiting.indexOf(job);
      if (at >= 0) waiting.splice(at, 1);
      const { slot } = job;
      job.reject(reason);
      if (slot) leave(slot, reason);
    });
    dispatch();
  });
}

/** Gives waiting jobs to idle workers, and to new ones up to the limit. */
function dispatch(): void {
  while (waiting.length > 0) {
    let slot = [...slots].find((s) => s.job === null && s.grace === null);
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
    slot.listens = false;
    job.slot = slot;
    slot.thread.keepAlive(true);
    try {
      slot.thread.send({ call: { ...job.call, id: ++slot.calls } }, job.transfer);
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
  const isShared = typeof SharedArrayBuffer !== "undefined";
  const slot: Slot = {
    thread: startThread({ reply: (r) => hear(slot, r), fail: (e) => end(slot, e) }),
    job: null,
    calls: 0,
    aborted: isShared ? new Int32Array(new SharedArrayBuffer(4)) : null,
    listens: false,
    grace: null,
  };
  slot.thread.send({ aborted: slot.aborted }, []);
  slots.add(slot);
  return slot;
}

function hear(slot: Slot, reply: WorkerReply): void {
  if ("listens" in reply) slot.listens = true;
  else if ("ended" in reply) end(slot, unpackError(reply.ended));
  else finish(slot, reply);
}

function finish(
  slot: Slot,
  reply: Extract<WorkerReply, { result: unknown } | { error: unknown }>,
): void {
  const { job } = slot;
  slot.job = null;
  if (slot.grace !== null) clearTimeout(slot.grace);
  slot.grace = null;
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

/** Cancels the worker's job: a body that listens may end by itself. */
function leave(slot: Slot, reason: unknown): void {
  slot.job = null;
  if (!slot.listens) return end(slot, reason as Error);
  if (slot.aborted) Atomics.store(slot.aborted, 0, slot.calls);
  slot.thread.send({ abort: packError(reason) }, []);
  slot.thread.keepAlive(false);
  slot.grace = setTimeout(() => end(slot, reason as Error), GRACE);
}

/** Notes a worker's end: its job fails, others continue. */
function end(slot: Slot, error: Error): void {
  if (!slots.delete(slot)) return;
  if (slot.grace !== null) clearTimeout(slot.grace);
  slot.thread.terminate();
  slot.job?.reject(error);
  slot.job = null;
  dispatch();
}
