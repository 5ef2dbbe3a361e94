/** Timers of any length, turns of the event loop, and promises that are settled later. */

import { describe } from "../../core/convert.ts";
import { ValueError } from "../../core/errors.ts";

/** Longest delay of `setTimeout`; a longer one fires at once. */
const LONGEST = 2 ** 31 - 1;

/** Throws `ValueError` for a time limit that is no number of milliseconds; zero and `Infinity` are allowed. */
export function checkTimeout(of: string, timeoutMs: unknown): void {
  if (timeoutMs === undefined || typeof timeoutMs === "number" && timeoutMs >= 0) return;
  throw new ValueError(
    `Cannot limit ${of} to timeoutMs ${describe(timeoutMs)}: wanted milliseconds, 0 or more`,
  );
}

/** Calls `fn` after `ms` milliseconds; never for `Infinity`. Returns a function that cancels the call. */
export function after(ms: number, fn: () => void): () => void {
  if (ms === Infinity) return () => {};
  let left = ms, timer: ReturnType<typeof setTimeout>;
  const wait = (): void => {
    const next = Math.min(left, LONGEST);
    left -= next;
    timer = setTimeout(left > 0 ? wait : fn, next);
  };
  wait();
  return () => clearTimeout(timer);
}

/** Resolves after the due timers and events of the event loop have run. */
export function nextTask(): Promise<void> {
  if (!("document" in globalThis)) return new Promise((resolve) => setTimeout(resolve, 0));
  // Pages in the background run timers once a second.
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/** Resolves after the events that wait now: at once, where the runtime tells when that is, and else as {@linkcode nextTask}. */
export function nextTurn(): Promise<void> {
  const { setImmediate } = globalThis as { readonly setImmediate?: (fn: () => void) => unknown };
  if (setImmediate === undefined) return nextTask();
  return new Promise((resolve) => void setImmediate(resolve));
}

/** Milliseconds of a slice of long work beside requests that came while another one ran. A timer between two takes one or two. */
const SHORT_SLICE = 3;
/** Milliseconds after such a request in which more are likely. */
const COMPANY = 250;

/** When such a request came last, by `performance.now()`. */
const elsewhere = { asked: -Infinity };

/** Tells long work of this thread that a request has come beside it: its slices are short for a while. */
export function askedFromElsewhere(): void {
  elsewhere.asked = performance.now();
}

/** Milliseconds of a slice, which has `ms` without requests beside it. */
export function sliceAt(now: number, ms: number): number {
  return now - elsewhere.asked < COMPANY ? Math.min(ms, SHORT_SLICE) : ms;
}

/** Callbacks of long work of this process that waits for its turn, the one whose turn it is first. */
const waiting: (() => void)[] = [];

/**
 * Resolves when the caller may run the next slice of long work: all such work of the process takes turns, and what is short goes
 * between.
 */
export function nextSlice(): Promise<void> {
  const { promise, resolve } = deferred<void>();
  if (waiting.push(resolve) === 1) void giveTurns();
  return promise;
}

async function giveTurns(): Promise<void> {
  for (; waiting.length > 0; waiting.shift()) {
    await nextTask();
    waiting[0]();
    // The slice runs before this. A timer that had begun before it would be due by now, and leave events no time.
    await nextTask();
  }
}

/** A promise that others settle. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T | PromiseLike<T>) => void;
  readonly reject: (reason?: unknown) => void;
}

/** Makes a promise to settle later. `Promise.withResolvers` does the same, which Node 20 does not have. */
export function deferred<T>(): Deferred<T> {
  let resolve!: Deferred<T>["resolve"], reject!: Deferred<T>["reject"];
  const promise = new Promise<T>((a, b) => [resolve, reject] = [a, b]);
  return { promise, resolve, reject };
}
