/**
 * Threads of the CPU device: they wait in shared memory for calls of compiled functions. The calling thread takes part,
 * and continues when all calls are done; so threads change nothing but time.
 */
import { roundUp } from "../blocks.ts";
import type { Heap, Pointer } from "../heap.ts";
import { ThreadGain } from "./thread_gain.ts";
import { failedKernel, kernelError } from "./kernel_error.ts";
import { FUNCTIONS_PER_MODULE, LAYOUT, NOT_MADE, THREW } from "./thread_layout.ts";
import { type StartedWorker, startWorkers } from "./thread_worker.ts";
import { workerCount } from "./worker_count.ts";

/** A compiled function: takes addresses and numbers. */
export type WasmFunction = (...args: number[]) => number;
/** A call; its numbers are 32-bit integers where threads may make it. */
export type WasmCall = readonly [run: WasmFunction, args: readonly number[]];

/** The code of a module, with a unique number. */
export interface ModuleCode {
  readonly module: number;
  readonly code: Uint8Array;
}

/** Bytes for the code that threads compile. */
const CODE_BYTES = 1 << 20;
/** Most arguments of a call. */
const MOST_ARGUMENTS = LAYOUT.callWords - 2;
const CONTROL_BYTES = 4 * LAYOUT.words;
/** Floating point operations after which the first thread is worth starting: a tenth of a second. */
const START_AFTER = 5e9;
/** Operations after which another is worth starting, for each millisecond that starting one took. */
const WORTH_STARTING = 2e8;

/** Milliseconds of waiting for calls of other threads, and times the longest own call, after which they are given up. */
const PATIENCE = 120_000, LONGER = 20;
/** Polls of the waiting thread between looks at the clock, and most milliseconds that pass between two of them. */
const POLLS = 4096, LONGEST_LOOK = 100;

export class Threads {
  readonly #heap: Heap;
  #control: Pointer = 0;
  #code: { from: Pointer; at: Pointer } = { from: 0, at: 0 };
  #most = Infinity;
  #started = 0;
  #work = 0;
  #startAfter = START_AFTER;
  readonly #published = new Set<number>();
  /** Functions by numbers of their modules and exports. */
  readonly #functions = new WeakMap<WasmFunction, { number: number; own: ModuleCode }>();
  #modules = 0;

  constructor(heap: Heap) {
    this.#heap = heap;
  }

  /**
   * Returns the number of threads that can take part now, including this one. Counts the given work, and starts threads
   * as it pays.
   */
  available(operations: number): number {
    if (this.#started < this.#most) {
      this.#work += operations;
      if (this.#work >= this.#startAfter) this.start(1);
    }
    if (this.#started === 0 || (this.#gain.rests(operations) && this.mayRest)) return 1;
    return this.#ready;
  }
  readonly #gain = new ThreadGain();
  /** False: threads take part however busy the machine is. */
  mayRest = true;
  /** Milliseconds of waiting after which threads that do not end their calls are given up, and others start. */
  patience: number = PATIENCE;
  #workers: StartedWorker[] = [];

  get #ready(): number {
    return 1 + Atomics.load(this.#heap.i32, this.#word(LAYOUT.ready));
  }

  #word(offset: number): number {
    return (this.#control >>> 2) + offset;
  }

  /** Number of started threads, without this one. */
  get started(): number {
    return this.#started;
  }

  /** Starts some more threads, up to the useful number. They take part when they are up. */
  start(count: number): void {
    const before = performance.now();
    if (this.#most === Infinity) this.#most = this.#heap.shared ? workerCount() : 0;
    count = Math.min(count, this.#most - this.#started);
    if (count <= 0) return;
    try {
      if (this.#control === 0) this.#makeControl();
      const made = startWorkers(count, { memory: this.#heap.memory, control: this.#control });
      if (made !== null) {
        this.#started += count;
        this.#workers.push(...made);
      } else this.#most = this.#started;
    } catch {
      this.#most = this.#started;
    }
    // The next one starts when this one has been worth it: starting takes this thread's time.
    this.#startAfter = this.#work + (performance.now() - before) * WORTH_STARTING;
  }

  #makeControl(): void {
    this.#control = this.#heap.alloc(CONTROL_BYTES);
    const code = this.#heap.alloc(CODE_BYTES);
    this.#code = { from: code, at: code };
    this.#heap.u8.fill(0, this.#control, this.#control + CONTROL_BYTES);
  }

  /** Registers the exports of a module, which threads compile again. */
  add(code: Uint8Array, exports: readonly WasmFunction[]): void {
    const module = this.#modules++, own = { module, code };
    exports.forEach((f, i) =>
      this.#functions.set(f, { number: module * FUNCTIONS_PER_MODULE + i, own })
    );
  }

  /** Publishes the modules of the next job by their numbers. False where there is no room for all of them. */
  publish(modules: readonly ModuleCode[]): boolean {
    if (this.#publishAll(modules)) return true;
    const bytes = modules.reduce((n, { code }) => n + roundUp(code.length), 0);
    if (bytes > CODE_BYTES || modules.length > LAYOUT.mostModules) return false;
    // Between jobs they have no readers: these replace all before.
    const { i32 } = this.#heap;
    i32[this.#word(LAYOUT.published)] = 0;
    i32[this.#word(LAYOUT.forgotten)]++;
    this.#published.clear();
    this.#code.at = this.#code.from;
    return this.#publishAll(modules);
  }

  #publishAll(modules: readonly ModuleCode[]): boolean {
    const { i32, u8 } = this.#heap;
    for (const { module, code } of modules) {
      if (this.#published.has(module)) continue;
      const { at, from } = this.#code, count = this.#published.size;
      if (count === LAYOUT.mostModules || at + roundUp(code.length) > from + CODE_BYTES) {
        return false;
      }
      u8.set(code, at);
      i32.set([module, at, code.length], this.#word(LAYOUT.modules + LAYOUT.moduleWords * count));
      i32[this.#word(LAYOUT.published)] = count + 1;
      this.#code.at += roundUp(code.length);
      this.#published.add(module);
    }
    return true;
  }

  /**
   * Runs all calls, in any order, until they are done. False where threads cannot have all functions. Throws
   * `InternalError` where a call fails, and where a thread does not end its own: then threads are replaced.
   */
  run(calls: readonly WasmCall[]): boolean {
    const modules = new Set<ModuleCode>();
    for (const [run, args] of calls) {
      const known = this.#functions.get(run);
      if (known === undefined || args.length > MOST_ARGUMENTS) return false;
      modules.add(known.own);
    }
    if (!this.publish([...modules])) return false;
    const { i32 } = this.#heap;
    const word = (offset: number): number => this.#word(offset);
    let thrown: { cause: unknown } | undefined;
    const make = ([run, args]: WasmCall): void => {
      try {
        run(...args);
      } catch (cause) {
        // Other threads still work in this memory until they are done.
        thrown ??= { cause: kernelError(cause) };
      }
    };
    for (let first = 0; first < calls.length; first += LAYOUT.mostCalls) {
      const begun = performance.now();
      const count = Math.min(LAYOUT.mostCalls, calls.length - first);
      for (let k = 0; k < count; k++) {
        const [run, args] = calls[first + k];
        const at = word(LAYOUT.calls + k * LAYOUT.callWords);
        i32[at] = this.#functions.get(run)!.number;
        i32[at + 1] = args.length;
        for (let a = 0; a < args.length; a++) i32[at + 2 + a] = args[a];
      }
      Atomics.store(i32, word(LAYOUT.done), 0);
      // From here on calls can be taken. One word holds the number left: a late thread, after any wait, either takes a
      // call of this job or none.
      Atomics.store(i32, word(LAYOUT.left), count);
      Atomics.add(i32, word(LAYOUT.job), 1);
      Atomics.notify(i32, word(LAYOUT.job));
      const own: number[] = [];
      for (let before = performance.now();;) {
        const k = Atomics.sub(i32, word(LAYOUT.left), 1) - 1;
        if (k < 0) break;
        make(calls[first + k]);
        Atomics.add(i32, word(LAYOUT.done), 1);
        const after = performance.now();
        own.push(after - before);
        before = after;
      }
      this.#await(count, own);
      const took = performance.now() - begun;
      this.#gain.add({ took, threads: this.#ready, calls: count, own });
      for (let k = 0; k < count; k++) {
        const at = word(LAYOUT.calls + k * LAYOUT.callWords);
        if (i32[at] === NOT_MADE) make(calls[first + k]);
        else if (i32[at] === THREW) thrown ??= { cause: failedKernel(this.#textAt(at)) };
      }
      if (thrown) throw thrown.cause;
    }
    return true;
  }

  /** Waits until so many calls are done. `own` are the durations of those that this thread made. */
  #await(count: number, own: readonly number[]): void {
    const { i32 } = this.#heap, done = this.#word(LAYOUT.done);
    const most = Math.max(this.patience, LONGER * Math.max(0, ...own));
    let waited = 0, before = performance.now();
    for (let polls = 1; Atomics.load(i32, done) < count; polls++) {
      if (polls % POLLS !== 0) continue;
      const now = performance.now();
      // A machine that slept has not waited.
      waited += Math.min(now - before, LONGEST_LOOK);
      before = now;
      if (waited <= most) continue;
      this.#replace();
      throw failedKernel(
        `a thread has not ended its call for ${Math.round(waited)} ms; it is replaced`,
      );
    }
  }

  /** Ends all threads and starts as many. */
  #replace(): void {
    const count = this.#started;
    for (const worker of this.#workers) worker.terminate();
    // The old control block is never freed: until they have ended, they may read and write it.
    this.#control = 0;
    this.#workers = [];
    this.#started = 0;
    this.#published.clear();
    this.start(count);
  }

  /** The message of a call that threw. */
  #textAt(at: number): string {
    const { i32, u8 } = this.#heap, from = 4 * (at + 2);
    return new TextDecoder().decode(u8.slice(from, from + i32[at + 1]));
  }
}
