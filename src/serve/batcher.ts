/** Queue of one signature: bounded, with a time limit for each request; requests are joined into batches on demand. */
import { type DType, DTYPES, type HostData, makeData } from "../engine/core/dtype.ts";
import { NdArray } from "../engine/core/nd_array.ts";
import { after } from "../engine/runtime/run/timers.ts";
import { withinSignal } from "../engine/runtime/run/run_context.ts";
import { HttpError } from "./http_error.ts";
import type { Servable, Specs } from "./servable.ts";

/** Options of batches: requests are joined along the first axis, which all inputs and outputs must leave open. */
export interface BatchingOptions {
  /** Most rows of a batch. Default 32. */
  readonly maxRows?: number;
  /** Milliseconds that the first request of a batch waits for others. Default 1. */
  readonly maxDelayMs?: number;
}

/** Options of {@linkcode Batcher}. */
export interface QueueOptions {
  readonly batching: Required<BatchingOptions> | null;
  /** Most waiting requests; further ones are answered 429. */
  readonly maxQueued: number;
  /** Called with the number of rows of each run. */
  readonly onRun?: (rows: number) => void;
}

type Arrays = Readonly<Record<string, NdArray>>;

interface Waiting {
  readonly inputs: Arrays;
  /** Number of rows, and the key that requests of one batch share; null for a request that runs alone. */
  readonly batch: { readonly rows: number; readonly key: string } | null;
  /** Aborts when the request's time is over or its client has gone. */
  readonly signal: AbortSignal;
  readonly resolve: (outputs: Record<string, NdArray>) => void;
  readonly reject: (reason: unknown) => void;
  readonly since: number;
}

function isOpen(specs: Specs): boolean {
  const all = Object.values(specs);
  return all.length > 0 && all.every(({ shape }) => shape !== null && shape[0] === null);
}

/** Runs the requests of one signature, one run at a time. */
export class Batcher {
  readonly #servable: Servable;
  readonly #options: QueueOptions;
  readonly #isBatched: boolean;
  #queue: Waiting[] = [];
  #isRunning = false;
  #givenUp = 0;
  /** Wakes the loop when a request comes in. */
  #wake: () => void = () => {};

  constructor(servable: Servable, options: QueueOptions) {
    this.#servable = servable;
    this.#options = options;
    this.#isBatched = options.batching !== null && isOpen(servable.inputs) &&
      isOpen(servable.outputs);
  }

  /** Number of runs that took longer than their requests may, since the last one that ended in time. */
  get givenUp(): number {
    return this.#givenUp;
  }

  /** Number of waiting requests. */
  get length(): number {
    return this.#queue.length;
  }

  /**
   * Runs the servable, perhaps together with other requests. Rejects with `HttpError` 429 where the queue is full, 504
   * when `signal` aborts before the run has ended, and with the run's error.
   */
  call(inputs: Arrays, signal: AbortSignal): Promise<Record<string, NdArray>> {
    if (this.#queue.length >= this.#options.maxQueued) {
      return Promise.reject(
        new HttpError(429, `Too many requests: ${this.#queue.length} wait already`, {
          "retry-after": "1",
        }),
      );
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#queue = this.#queue.filter((w) => w !== waiting);
        reject(signal.reason);
      };
      const settle = <T>(then: (value: T) => void) => (value: T): void => {
        signal.removeEventListener("abort", leave);
        then(value);
      };
      const waiting: Waiting = {
        inputs,
        batch: this.#isBatched ? batchOf(inputs) : null,
        signal,
        resolve: settle(resolve),
        reject: settle(reject),
        since: performance.now(),
      };
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener("abort", leave);
      this.#queue.push(waiting);
      this.#wake();
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#queue.length > 0) {
      if (this.#options.batching !== null) await this.#fill(this.#options.batching);
      const batch = this.#take();
      if (batch.length > 0) await this.#runBatch(batch);
    }
    this.#isRunning = false;
  }

  /** Waits until a batch is full or its first request has waited `maxDelayMs`. */
  async #fill(batching: Required<BatchingOptions>): Promise<void> {
    while (this.#queue.length > 0) {
      const [first] = this.#queue;
      const left = first.since + batching.maxDelayMs - performance.now();
      if (first.batch === null || left <= 0 || this.#rowsLike(first) >= batching.maxRows) return;
      await new Promise<void>((resolve) => {
        const clear = after(left, resolve);
        this.#wake = () => {
          clear();
          resolve();
        };
      });
      this.#wake = () => {};
    }
  }

  #rowsLike(first: Waiting): number {
    let rows = 0;
    for (const { batch } of this.#queue) if (batch?.key === first.batch?.key) rows += batch!.rows;
    return rows;
  }

  /** Takes the requests of the next run from the queue: the first, and those that can join it. */
  #take(): Waiting[] {
    const [first] = this.#queue;
    if (first === undefined) return [];
    const taken = [first];
    let rows = first.batch?.rows ?? 0;
    for (const waiting of this.#queue.slice(1)) {
      if (first.batch === null || waiting.batch?.key !== first.batch.key) continue;
      if (rows + waiting.batch.rows > this.#options.batching!.maxRows) continue;
      rows += waiting.batch.rows;
      taken.push(waiting);
    }
    const gone = new Set(taken);
    this.#queue = this.#queue.filter((w) => !gone.has(w));
    return taken;
  }

  async #runBatch(batch: readonly Waiting[]): Promise<void> {
    const rows = batch.map(({ inputs }) => Object.values(inputs)[0]?.shape[0] ?? 1);
    this.#options.onRun?.(rows.reduce((a, b) => a + b));
    if (batch.length === 1) return await this.#runAlone(batch[0]);
    try {
      const names = Object.keys(batch[0].inputs);
      const joined = names.map((n) => [n, joinRows(batch.map((w) => w.inputs[n]))] as const);
      const signal = allAborted(batch.map((w) => w.signal));
      const outputs = await this.#call(Object.fromEntries(joined), signal);
      const parts = Object.entries(outputs).map(([n, array]) =>
        [n, splitRows(array, rows)] as const
      );
      batch.forEach((w, i) => w.resolve(Object.fromEntries(parts.map(([n, p]) => [n, p[i]]))));
    } catch {
      // The fault may be one request's: each runs by itself and gets its own answer.
      for (const waiting of batch) await this.#runAlone(waiting);
    }
  }

  async #runAlone({ inputs, signal, resolve, reject }: Waiting): Promise<void> {
    try {
      resolve(await this.#call(inputs, signal));
    } catch (error) {
      reject(error);
    }
  }

  /** Runs the servable until `signal` aborts, and lets the event loop turn, so that other requests are answered. */
  async #call(inputs: Arrays, signal: AbortSignal): Promise<Record<string, NdArray>> {
    signal.throwIfAborted();
    try {
      const outputs = await withinSignal(signal, () => this.#servable.call(inputs));
      this.#givenUp = 0;
      return outputs;
    } catch (error) {
      const { reason } = signal;
      if (reason instanceof HttpError && reason.status === 504) this.#givenUp++;
      throw error;
    }
  }
}

/** Returns a signal that aborts once all of `signals` have. */
function allAborted(signals: readonly AbortSignal[]): AbortSignal {
  const controller = new AbortController();
  let left = signals.length;
  for (const signal of signals) {
    const leave = (): void => {
      if (--left === 0) controller.abort(signal.reason);
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
  }
  return controller.signal;
}

/** Returns a request's number of rows and the key of dtypes and inner shapes; null where inputs differ in rows. */
function batchOf(inputs: Arrays): Waiting["batch"] {
  const arrays = Object.entries(inputs);
  const [rows] = arrays[0][1].shape;
  if (arrays.some(([, a]) => a.shape[0] !== rows)) return null;
  const key = arrays.map(([n, a]) => `${n} ${a.dtype} ${a.shape.slice(1)}`).join("\n");
  return { rows, key };
}

/** Concatenates arrays along their rows. */
function joinRows(arrays: readonly NdArray[]): NdArray {
  const { dtype, shape } = arrays[0];
  const rows = arrays.reduce((n, a) => n + a.shape[0], 0);
  const joined = [rows, ...shape.slice(1)];
  const total = arrays.reduce((n, a) => n + a.data.length, 0);
  if (isObjects(dtype)) {
    return new NdArray(dtype, joined, arrays.flatMap((a) => a.data as unknown[]) as HostData);
  }
  const data = makeData(dtype, total / DTYPES[dtype].slots) as Uint8Array;
  let at = 0;
  for (const a of arrays) {
    data.set(a.data as Uint8Array, at);
    at += a.data.length;
  }
  return new NdArray(dtype, joined, data);
}

const isObjects = (dtype: DType): boolean => DTYPES[dtype].bytes === 0;

/** Splits an array into parts of so many rows each. Throws `HttpError` 500 where the sum differs. */
function splitRows(array: NdArray, rows: readonly number[]): NdArray[] {
  const total = rows.reduce((a, b) => a + b);
  if (array.shape[0] !== total) {
    throw new HttpError(500, `Cannot split a batch: an output has shape [${array.shape}]`);
  }
  const step = array.data.length / total;
  let at = 0;
  return rows.map((n) => {
    const data = (array.data as Uint8Array).slice(at, at += n * step);
    return new NdArray(array.dtype, [n, ...array.shape.slice(1)], data);
  });
}
