/**
 * Threads of the CPU device: they wait in shared memory for calls of compiled functions. The thread that asks takes part, and goes
 * on when all calls are done; so threads change nothing but time.
 * May import devices/cpu.
 */
import type { Heap, Pointer } from "../heap.ts";
import { ThreadGain } from "./thread_gain.ts";
import { LAYOUT, NOT_MADE } from "./thread_layout.ts";
import { startWorkers, workerCount } from "./thread_worker.ts";

/** One call: a function by its number, and its arguments. */
export interface ThreadCall {
  /** Number of the module and of its export. */
  readonly number: number;
  /** The function here. */
  readonly run: (...args: number[]) => number;
  /** Whole numbers of 32 bits. */
  readonly args: readonly number[];
}

/** Room for the code that threads compile. */
const CODE_BYTES = 1 << 20;
const CONTROL_BYTES = 4 * LAYOUT.words;
/** Floating point operations after which the first thread is worth starting: a tenth of a second. */
const START_AFTER = 5e9;
/** And the others, for each millisecond that starting one took. */
const WORTH_STARTING = 2e8;

/** The threads of one heap. */
export class Threads {
  readonly #heap: Heap;
  readonly #objects: (() => Uint8Array) | null;
  #control: Pointer = 0;
  #code: { at: Pointer; end: Pointer } = { at: 0, end: 0 };
  #most = Infinity;
  #started = 0;
  #work = 0;
  #startAfter = START_AFTER;
  readonly #published = new Map<number, boolean>();

  /** Starts nothing yet. `objects` makes the module of what each thread imports for itself. */
  constructor(heap: Heap, objects: (() => Uint8Array) | null) {
    this.#heap = heap;
    this.#objects = objects;
  }

  /** Threads that can take part now, this one included. Counts the work that is asked about, and starts threads as it pays. */
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

  /** Threads that are up, this one included. */
  get #ready(): number {
    return 1 + Atomics.load(this.#heap.i32, this.#word(LAYOUT.ready));
  }

  #word(offset: number): number {
    return (this.#control >>> 2) + offset;
  }

  /** How many threads were started, beside this one. */
  get started(): number {
    return this.#started;
  }

  /** Starts some more threads, now: as many as the machine has use for. They take part when they are up. */
  start(count: number): void {
    const before = performance.now();
    if (this.#most === Infinity) this.#most = this.#heap.shared ? workerCount() : 0;
    count = Math.min(count, this.#most - this.#started);
    if (count <= 0) return;
    try {
      if (this.#control === 0) this.#makeControl();
      const { memory } = this.#heap, objects = this.#objects?.() ?? null;
      if (startWorkers(count, { memory, control: this.#control, objects })) {
        this.#started += count;
      } else this.#most = this.#started;
    } catch {
      this.#most = this.#started;
    }
    // The next one when this one has been worth it: starting takes this thread's time.
    this.#startAfter = this.#work + (performance.now() - before) * WORTH_STARTING;
  }

  #makeControl(): void {
    this.#control = this.#heap.alloc(CONTROL_BYTES);
    const code = this.#heap.alloc(CODE_BYTES);
    this.#code = { at: code, end: code + CODE_BYTES };
    this.#heap.u8.fill(0, this.#control, this.#control + CONTROL_BYTES);
  }

  /** Lets threads find a module by its number. False where there is no room. */
  publish(module: number, code: Uint8Array): boolean {
    let known = this.#published.get(module);
    if (known === undefined) {
      const length = (code.length + 63) & ~63;
      known = module < LAYOUT.mostModules && this.#code.at + length <= this.#code.end;
      if (known) {
        this.#heap.u8.set(code, this.#code.at);
        const entry = this.#word(LAYOUT.modules + 2 * module);
        this.#heap.i32[entry] = this.#code.at;
        this.#heap.i32[entry + 1] = code.length;
        this.#code.at += length;
      }
      this.#published.set(module, known);
    }
    return known;
  }

  /** Runs all calls, in any order, and returns when they are done. Throws what one threw. */
  run(calls: readonly ThreadCall[]): void {
    const { i32 } = this.#heap;
    const word = (offset: number): number => this.#word(offset);
    let thrown: { cause: unknown } | undefined;
    const make = ({ run, args }: ThreadCall): void => {
      try {
        run(...args);
      } catch (cause) {
        // Others still work in this memory: it is theirs until they are done.
        thrown ??= { cause };
      }
    };
    for (let first = 0; first < calls.length; first += LAYOUT.mostCalls) {
      const begun = performance.now();
      const count = Math.min(LAYOUT.mostCalls, calls.length - first);
      for (let k = 0; k < count; k++) {
        const { number, args } = calls[first + k];
        const at = word(LAYOUT.calls + k * LAYOUT.callWords);
        i32[at] = number;
        i32[at + 1] = args.length;
        for (let a = 0; a < args.length; a++) i32[at + 2 + a] = args[a];
      }
      Atomics.store(i32, word(LAYOUT.done), 0);
      // From here on calls can be taken. One word says how many are left: a thread that comes late, after any wait, either takes a
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
      while (Atomics.load(i32, word(LAYOUT.done)) < count);
      const took = performance.now() - begun;
      this.#gain.add({ took, threads: this.#ready, calls: count, own });
      for (let k = 0; k < count; k++) {
        if (i32[word(LAYOUT.calls + k * LAYOUT.callWords)] === NOT_MADE) make(calls[first + k]);
      }
      if (thrown) throw thrown.cause;
    }
  }
}
