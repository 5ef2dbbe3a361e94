/** Warns once if a function is traced too often: tracing costs milliseconds, a call microseconds. */
import type { Spec } from "../core/tensor_spec.ts";
import { specText } from "../core/tensor_spec.ts";
import { RecentMap } from "../core/collections/recent_map.ts";
import { stackOf, userFrames } from "../core/throwing/user_stack.ts";

/** TensorFlow's numbers: this many traces among this many calls. */
const TRACES = 5, CALLS = 10;
/** The limit for functions made at one place. Models make some tens of them, each traced at its first call. */
const FUNCTIONS = 100;

/** Output of the warnings, for tests. */
export const retracingWarning: { write: (text: string) => void } = {
  write: (text) => console.warn(text),
};

/** Counts calls, and traces among the last of them. */
class Counter {
  calls = 0;
  readonly #traces: number[] = [];
  readonly #most: number;
  readonly #within: number;
  /** True once a warning was due. */
  isTold = false;

  constructor(most: number, within: number) {
    this.#most = most;
    this.#within = within;
  }

  /** Notes that the call was traced. True the first time that a warning is due. */
  traced(): boolean {
    if (this.isTold) return false;
    this.#traces.push(this.calls);
    while (this.calls - this.#traces[0] >= this.#within) this.#traces.shift();
    return this.isTold = this.#traces.length >= this.#most;
  }
}

export interface TraceReason {
  /** Key apart from tensors: equal for equal nests and JavaScript values. */
  readonly structure: string;
  /** The tensors' specs. */
  readonly specs: readonly Spec[];
  /** True where shapes are relaxed already. */
  readonly isRelaxed: boolean;
}

/** Functions with one text that are only counted: from then on their places are asked for, which takes longer than making them. */
const ALIKE = FUNCTIONS / 2;

/** Functions with one text. */
const texts = new RecentMap<string, Counter>(1024);
/** Functions with one text, made at one place of the user's code. */
const places = new RecentMap<string, Counter>(1024);

/** Watches one function. */
export class Retracing {
  readonly #name: string;
  readonly #fn: { toString(): string };
  /** The place that made it; null while few functions have its text. */
  readonly #made: Error | null;
  readonly #own = new Counter(TRACES, CALLS);
  /** Counts the functions like this one, once this one was traced. */
  #others: Counter | null = null;
  #before: TraceReason | null = null;

  /** Watches a new function; its place is the code that called `maker`. */
  constructor(name: string, fn: { toString(): string }, maker: unknown) {
    this.#name = name;
    this.#fn = fn;
    this.#made = texts.get(String(fn))?.isTold ? stackBefore(maker) : null;
  }

  called(): void {
    this.#own.calls++;
    if (this.#others !== null) this.#others.calls++;
  }

  /** Notes that the call was traced, and warns once if there were too many. */
  traced(reason: TraceReason): void {
    const before = this.#before;
    this.#before = reason;
    if (before === null) {
      const frames = this.#made && userFrames(stackOf(this.#made));
      if (this.#countOf(frames).traced() && frames !== null) {
        return warn(
          `"${this.#name}" is one of ${FUNCTIONS} functions made by tf.function() at the same line and traced at their first call. Make it once, outside of the loop:\n${frames}`,
        );
      }
    }
    if (this.#own.traced() && before !== null) {
      warn(
        `${TRACES} of the last ${CALLS} calls of "${this.#name}" were traced, each of which takes as long as thousands of calls. ${
          because(before, reason)
        }`,
      );
    }
  }

  /** Returns the counter of the functions with this one's text, and its place where that is known. */
  #countOf(frames: string | null): Counter {
    const counters = frames === null ? texts : places, text = String(this.#fn);
    const key = frames === null ? text : `${frames.split("\n")[0]}\n${text}`;
    let found = counters.get(key);
    if (found === undefined) counters.set(key, found = new Counter(ALIKE, 2 * ALIKE));
    found.calls++;
    return this.#others = found;
  }
}

/** Takes the stack above `maker`. V8 omits the frames below, which look like the user's in a bundle. */
function stackBefore(maker: unknown): Error {
  const made = new Error();
  const { captureStackTrace } = Error as { captureStackTrace?(e: Error, above: unknown): void };
  captureStackTrace?.(made, maker);
  return made;
}

function because(before: TraceReason, now: TraceReason): string {
  if (before.structure !== now.structure) {
    return "Other values than tensors differed among its arguments, and belong to a trace: numbers, texts and lists by their value, objects and functions by identity. Pass what varies as tensors, and objects that are made once";
  }
  const at = now.specs.findIndex((spec, i) => specText(spec) !== specText(before.specs[i]));
  const [was, is] = [before, now].map(({ specs }) => specs[at] ? specText(specs[at]) : "nothing");
  const signature = `an inputSignature with null for the dimensions that vary`;
  return `A tensor among its arguments was ${was} and then ${is}. Give tf.function() ${signature}${
    now.isRelaxed ? "" : ", or { reduceRetracing: true }"
  }`;
}

function warn(text: string): void {
  retracingWarning.write(`weft: ${text}`);
}
